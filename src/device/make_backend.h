// Makes the backend from the user's flags (--device, --cpu-kernels, --gemm-cache-file); no other code does.
#pragma once
#include <memory>

#include "comm/ranks.h"
#include "plan/interpreter.h"
#include "settings/device_options.h"

namespace megalith {

// Call it before ranks join: it sets what device drivers read when they start, and MPI may start them.
void settle_drivers();
// Says in one line which device it is and why (stderr). Error if it can't be had.
// `ranks`: whom plans for several ranks talk to.
std::unique_ptr<Backend> make_backend(const DeviceOptions& options, Ranks* ranks = nullptr);

// The file of chosen matrix-product algorithms: the one named, or megalith/gemm-algorithms.json in $XDG_CACHE_HOME or
// ~/.cache; empty for "none", or without a home.
std::string gemm_cache_path(const DeviceOptions& options);

}  // namespace megalith
