// The error for files of another model: the expected and the actual tensors.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"

namespace megalith {

struct NamedShape {
  std::string name;
  Shape shape;
  bool operator==(const NamedShape&) const = default;
};

// Throws Error unless `found` holds exactly the tensors of `expected`. `where` starts the message, e.g. "[hf] DIR". The
// first few differences are listed with both shapes.
void check_same_tensors(const std::string& where, std::span<const NamedShape> expected,
                        std::span<const NamedShape> found);

}  // namespace megalith
