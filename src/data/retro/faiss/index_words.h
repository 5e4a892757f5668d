// The supported faiss indexes: their training ends, and their bytes do not depend on threads.
#pragma once
#include <string>

#include "base/dtype.h"

namespace megalith {

// The minimum number of training points for an index of points of `size` numbers. Error, in one line, if
// `description` is not supported.
i64 least_learned(const std::string& description, i64 size);

}  // namespace megalith
