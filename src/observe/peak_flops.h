// The peak flop/s of a GPU, for the model flops utilisation (MFU): dense matrix products, from its data sheet. The
// figure with sparsity is twice as large, and a frequent mistake.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "plan/interpreter.h"
#include "settings/options.h"

namespace megalith {

// Peak of a device for products of a type. `device`: the name from its driver. Empty if it is not in the table.
std::optional<double> peak_flops(std::string_view device_name, DType dtype);

// A log line that explains the figures of --log-throughput.
std::string throughput_line(const Options& o, const Backend& backend);

}  // namespace megalith
