#include "tests/parallel/saved.h"

#include <algorithm>
#include <map>

#include "ckpt/any_checkpoint.h"

namespace megalith::parity {

int differing_tensors(const std::string& a, const std::string& b) {
  const AnyCheckpoint x = open_any_checkpoint(a), y = open_any_checkpoint(b);
  int bad = int(x.tensors->tensors().size() != y.tensors->tensors().size());
  for (size_t i = 0; i < x.tensors->tensors().size(); ++i) {
    const TensorSpec& t = x.tensors->tensors()[i];
    const auto other = y.tensors->find(t.name);
    if (!other || y.tensors->tensors()[*other].shape != t.shape || y.tensors->tensors()[*other].dtype != t.dtype) {
      ++bad;
      continue;
    }
    std::vector<std::byte> left(size_t(count(t.shape) * size_of(t.dtype))), right(left.size());
    x.tensors->read_range(i, 0, count(t.shape), left.data());
    y.tensors->read_range(*other, 0, count(t.shape), right.data());
    bad += left != right;
  }
  return bad;
}

double excess(const std::string& dir, int ranks) {
  std::map<std::string, double> written;  // by shard_RRRRR
  double all = 0;
  const Checkpoint c = open_checkpoint(dir, {.verify = false});
  for (const CheckpointTensor& t : c.tensors())
    for (const TensorBlock& b : t.blocks)
      written[b.file.substr(0, 11)] += double(count(b.shape)), all += double(count(b.shape));
  double most = 0;
  for (const auto& [file, elements] : written) most = std::max(most, elements);
  return most * ranks / all - 1;
}

}  // namespace megalith::parity
