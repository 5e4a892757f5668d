#include "graph/origin.h"

#include <fmt/format.h>

namespace megalith {

std::string to_string(const Origin& o) {
  const std::string layer = o.layer < 0 ? "" : fmt::format("layer {} ", o.layer);
  return fmt::format("{}{}{}{}{}{}", o.stack, o.stack.empty() ? "" : " ", layer, o.module, o.norm ? " norm" : "",
                     o.recomputed ? " again" : "");
}

}  // namespace megalith
