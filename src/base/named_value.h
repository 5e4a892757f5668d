// A number with a name: a metric, or the time of a phase.
#pragma once
#include <string>

#include "base/dtype.h"

namespace megalith {

struct NamedValue {
  std::string name;
  double value = 0;
};

}  // namespace megalith
