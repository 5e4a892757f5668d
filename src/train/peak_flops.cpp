#include "train/peak_flops.h"

namespace megalith {

std::optional<double> peak_flops(std::string_view device_name, DType dtype) {
  struct Row {
    std::string_view part;  // of the name
    double bf16;            // flop/s
  };
  // The PCIe and NVL cards of the H100 have fewer multiprocessors or lower clocks: rows before the plain name's.
  constexpr Row kTable[] = {{"H100 PCIe", 756e12}, {"H100 NVL", 835e12}, {"H100", 989e12},
                            {"H200 NVL", 835e12},  {"H200", 989e12},     {"A100", 312e12}};
  if (dtype != DType::bf16) return std::nullopt;
  for (const Row& row : kTable)
    if (device_name.find(row.part) != device_name.npos) return row.bf16;
  return std::nullopt;
}

}  // namespace megalith
