// A backend that can report the facts of its device.
#pragma once
#include "facts/device_facts.h"

namespace megalith {

class TellsFacts {
 public:
  virtual ~TellsFacts() = default;
  // Sizes, versions, and the workspaces that libraries have requested so far.
  virtual void tell(DeviceFacts& facts) const = 0;
};

}  // namespace megalith
