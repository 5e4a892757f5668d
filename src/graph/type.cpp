#include "graph/type.h"

#include <fmt/format.h>

namespace megalith {

std::string to_string(const Type& t, AxisSet used) {
  return fmt::format("{}{}{}", name_of(t.dtype), to_string(t.shape), to_string(t.layout, used));
}

Type local_type(const Mesh& mesh, const Type& t) { return {t.dtype, local_shape(mesh, t.shape, t.layout), t.layout}; }

}  // namespace megalith
