// Which of faiss's indexes are served: those whose learning ends and whose bytes do not depend on threads.
#pragma once
#include <string>

#include "base/dtype.h"

namespace megalith {

// How many points an index of points of `size` numbers learns from at least. Error, in one line, if `description` is
// not served.
i64 least_learned(const std::string& description, i64 size);

}  // namespace megalith
