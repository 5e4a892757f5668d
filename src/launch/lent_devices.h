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
  // The device of one of these, if the node has one for each of them; else empty.
  std::string own(int local_rank, int ranks) const;

 private:
  int there_;                       // GPUs that the environment lets ranks see
  std::vector<std::string> names_;  // as the environment has them, or numbers
  std::vector<size_t> order_, given_;
};

}  // namespace megalith::launch
