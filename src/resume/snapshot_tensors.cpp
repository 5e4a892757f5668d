#include "resume/snapshot_tensors.h"

#include <algorithm>

#include "base/parse_count.h"
#include "resume/far_box.h"

namespace megalith {
namespace {

class SnapshotTensors final : public TensorReader {
 public:
  explicit SnapshotTensors(std::vector<Snapshot> snapshots)
      : TensorReader("the agents' memory"), snapshots_(std::move(snapshots)) {
    for (const Snapshot& s : snapshots_)
      for (const CheckpointTensor& t : s.account.tensors)
        for (const TensorBlock& b : t.blocks) {
          const i64 at = *parse_count(b.key);
          add_box(t, b, s.view ? s.view->bytes().data() + at : nullptr, s.far.get(), at);
        }
  }

 private:
  struct SeenBox {
    Shape offset, shape, strides;
    const std::byte* data;  // null: it is far
    const FarSlot* far;
    i64 at;  // its first byte in a far slot
  };

  // Several ranks may hold the same box, so only the first counts.
  void add_box(const CheckpointTensor& t, const TensorBlock& b, const std::byte* data, const FarSlot* far, i64 at) {
    const auto known = find(t.name);
    const size_t i = known ? *known : add({t.name, t.dtype, t.shape});
    boxes_.resize(std::max(boxes_.size(), i + 1));
    const auto is_same = [&](const SeenBox& o) { return o.offset == b.offset && o.shape == b.shape; };
    if (std::ranges::none_of(boxes_[i], is_same))
      boxes_[i].push_back({b.offset, b.shape, row_major_strides(b.shape), data, far, at});
  }

  static i64 copy(const SeenBox& b, const StridedBlock& to, std::byte* out, i64 element) {
    const StridedBlock box{b.offset, b.shape, b.strides};
    if (!b.far) return copy_common(box, b.data, to, out, element);
    return copy_far([&](i64 at, std::span<std::byte> bytes) { b.far->read(at, bytes); }, b.at, box, to, out, element);
  }

  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    for_boxes(tensors()[tensor].shape, begin, n, [&](const Shape& offset, const Shape& shape) {
      do_read_box(tensor, offset, shape, out);
      out += count(shape) * size_of(tensors()[tensor].dtype);
    });
  }

  void do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const override {
    const TensorSpec& t = tensors()[tensor];
    const Shape strides = row_major_strides(shape);
    i64 left = count(shape);
    for (const SeenBox& b : boxes_[tensor])
      if (left > 0) left -= copy(b, {offset, shape, strides}, out, size_of(t.dtype));
    check(left == 0, "the snapshots lack {} elements of tensor {}: start the run again without them", left, t.name);
  }

  std::vector<Snapshot> snapshots_;
  std::vector<std::vector<SeenBox>> boxes_;  // by tensor
};

}  // namespace

std::shared_ptr<const TensorReader> read_snapshots(std::vector<Snapshot> snapshots) {
  return std::make_shared<SnapshotTensors>(std::move(snapshots));
}

}  // namespace megalith
