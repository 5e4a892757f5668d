#include "exec/cpu/onednn_version.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

namespace megalith {

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace megalith
