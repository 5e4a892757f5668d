// Where a command computes; device/make_backend.h makes it.
#pragma once
#include <string>

namespace megalith {

namespace config {
class FieldList;
}

enum class DeviceKind { automatic, cpu, cuda };

struct DeviceOptions {
  DeviceKind kind = DeviceKind::automatic;  // automatic: cuda where there is a GPU that the build can use
  std::string gemm_cache_file;   // empty: in the user's cache directory; "none": no file, and nothing is measured
  double timeout_seconds = 600;  // of what a GPU waits for from others; --distributed-timeout-minutes

  bool operator==(const DeviceOptions&) const = default;
};

void list_fields(DeviceOptions& c, config::FieldList& f);

}  // namespace megalith
