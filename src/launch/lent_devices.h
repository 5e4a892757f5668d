// A node's devices in the order in which ranks get them. Where fewer ranks start than there are devices, the last are
// left out.
#pragma once
#include <string>
#include <vector>

namespace megalith::launch {

class LentDevices {
 public:
  explicit LentDevices(int devices);

  void begin() { given_ = order_; }  // a generation
  void put_last(int local_rank);     // the device of this rank of it
  // CUDA_VISIBLE_DEVICES of so many ranks; empty while the order is that of the node.
  std::string visible(int ranks) const;

 private:
  std::vector<std::string> names_;  // as the environment has them, or numbers
  std::vector<size_t> order_, given_;
};

}  // namespace megalith::launch
