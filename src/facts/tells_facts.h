// A backend that can write down what it knows of its device.
#pragma once
#include "facts/device_facts.h"

namespace megalith {

class TellsFacts {
 public:
  virtual ~TellsFacts() = default;
  // Sizes, versions, and what libraries asked for so far.
  virtual void tell(DeviceFacts& facts) const = 0;
};

}  // namespace megalith
