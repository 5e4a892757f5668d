// A node's devices in the order in which ranks get them. If fewer ranks start than there are devices, the last
// devices stay unused.
#pragma once
#include <string>
#include <vector>

namespace megalith::launch {

class LentDevices {
 public:
  explicit LentDevices(int devices);

  void begin() { given_ = order_; }  // a generation
  void put_last(int local_rank);     // `local_rank`: the rank that has the device
  // CUDA_VISIBLE_DEVICES for this many ranks. Empty if the ranks use the node's own order.
  std::string visible(int ranks) const;
  // The device of one of these ranks. Empty if the node has fewer devices than ranks.
  std::string own(int local_rank, int ranks) const;

 private:
  int there_;                       // GPUs that the environment makes visible to ranks
  std::vector<std::string> names_;  // as in the environment, or numbers
  std::vector<size_t> order_, given_;
};

}  // namespace megalith::launch
