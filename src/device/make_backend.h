// The one place that turns what the user says (--device, --gemm-cache-file) into a backend.
#pragma once
#include <memory>

#include "comm/ranks.h"
#include "plan/interpreter.h"
#include "settings/device_options.h"

namespace megalith {

// To be called before ranks join: settles what devices' drivers read when they start, which MPI may do.
void settle_drivers();
// Says in one line which device it is and why (stderr). Error if it can't be had.
// `ranks`: whom plans for several ranks talk to.
std::unique_ptr<Backend> make_backend(const DeviceOptions& options, Ranks* ranks = nullptr);

// The file of chosen matrix-product algorithms: the one named, or megalith/gemm-algorithms.json in $XDG_CACHE_HOME or
// ~/.cache; empty for "none", or without a home.
std::string gemm_cache_path(const DeviceOptions& options);

}  // namespace megalith
