#include "exec/cuda_needs/symmetric_needs.h"

#include <algorithm>

namespace megalith::cuda {

bool have_own_gpus(std::vector<std::string> places) {
  std::ranges::sort(places);
  return std::ranges::find(places, "") == places.end() && std::ranges::adjacent_find(places) == places.end();
}

}  // namespace megalith::cuda
