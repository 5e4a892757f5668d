// The formats of read_gpu_file.
#pragma once
#include <string_view>

#include "report/gpu_samples.h"

namespace megalith::report {

// A value of a GPU at a time. Values of the same GPU and time are one sample.
struct GpuValue {
  std::string host{}, bus{};
  i64 gpu = -1;
  double time = 0;
  GpuSignal signal{};
  double value = 0;
};

struct GpuText {
  std::vector<GpuValue> values{};
  i64 passed_over = 0;
  bool has_times = true;  // false: `time` is the sample's number
  std::string mistake{};  // why nothing can be read: "no column of it is known"
};

bool looks_like_dmon(std::string_view text);
GpuText read_dmon(std::string_view text);
GpuText read_gpu_csv(std::string_view text);
GpuText read_gpu_json(std::string_view text);

// A label of a series, as dcgm-exporter and Prometheus name it.
void take_gpu_label(std::string_view name, std::string_view value, GpuValue& to);

}  // namespace megalith::report
