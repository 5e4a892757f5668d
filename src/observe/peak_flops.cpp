#include "observe/peak_flops.h"

#include "settings/precision.h"
#include "settings/schedules.h"
#include "step/model_size.h"

namespace megalith {

std::optional<double> peak_flops(std::string_view device_name, DType dtype) {
  struct Row {
    std::string_view part;  // of the name
    double bf16;            // flop/s
  };
  // The PCIe and NVL cards of the H100 have fewer multiprocessors or lower clocks. So their rows come before the
  // general name.
  constexpr Row kTable[] = {{"H100 PCIe", 756e12}, {"H100 NVL", 835e12}, {"H100", 989e12},
                            {"H200 NVL", 835e12},  {"H200", 989e12},     {"A100", 312e12}};
  if (dtype != DType::bf16) return std::nullopt;
  for (const Row& row : kTable)
    if (device_name.find(row.part) != device_name.npos) return row.bf16;
  return std::nullopt;
}

std::string throughput_line(const Options& o, const Backend& backend) {
  const DType dtype = precision_of(o).products;
  const auto peak = peak_flops(backend.device_name(), dtype);
  const std::string mfu =
      peak ? fmt::format("MFU is of {:.0f} TFLOP/s, the dense peak of {} in {}", *peak / 1e12, backend.device_name(),
                         name_of(dtype))
           : fmt::format("no MFU: the dense peak of {} in {} is unknown", backend.device_name(), name_of(dtype));
  const ModelSize size = size_of(*step_spec(o).model);
  return fmt::format(
      "throughput: model flops with attention at half of its square, which causal kernels compute (the full square "
      "would be {:.1f} % more); {}",
      100 * size.attention_flops / size.flops(), mfu);
}

}  // namespace megalith
