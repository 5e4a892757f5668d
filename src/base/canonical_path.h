// Whether two paths mean the same place.
#pragma once
#include <string>

namespace megalith {

// The one spelling of what a path means, be it there or not: absolute, without links, dots or a slash at its end.
std::string canonical_path(const std::string& path);

}  // namespace megalith
