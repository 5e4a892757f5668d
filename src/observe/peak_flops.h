// What a GPU could reach at most, for the model flops utilisation (MFU): dense matrix products, as its data sheet says
// (the figure with sparsity, twice as large, is a frequent mistake).
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "plan/interpreter.h"
#include "settings/options.h"

namespace megalith {

// Flop/s of a device, by the name its driver reports, of products of a type; nothing if it is not in the table.
std::optional<double> peak_flops(std::string_view device_name, DType dtype);

// What the figures of --log-throughput mean.
std::string throughput_line(const Options& o, const Backend& backend);

}  // namespace megalith
