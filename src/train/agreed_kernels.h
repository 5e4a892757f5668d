// All ranks of a run compute with the same set of CPU kernels. Two sets round differently, so copies of a weight on two
// ranks would drift apart.
#pragma once
#include "comm/on_all_ranks.h"
#include "plan/interpreter.h"

namespace megalith {

inline Agreed agreed_kernels(const Backend& backend) {
  return {"the CPU kernels", backend.kernels(), "give --cpu-kernels baseline, because the CPUs of the hosts differ"};
}

}  // namespace megalith
