#include "ckpt/native/native_tensors.h"

#include "ckpt/native/checkpoint_layout.h"

namespace megalith {
namespace {

class NativeTensors final : public TensorReader {
 public:
  explicit NativeTensors(Checkpoint checkpoint) : TensorReader(checkpoint.path()), checkpoint_(std::move(checkpoint)) {
    for (const CheckpointTensor& t : checkpoint_.tensors()) add({t.name, t.dtype, t.shape});
  }
  i64 cut_before(std::size_t tensor, i64 end) const override {
    return checkpoint_.cut_before(tensors()[tensor].name, end);
  }

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    checkpoint_.read_range(tensors()[tensor].name, begin, n, out);
  }
  void do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const override {
    const TensorSpec& t = tensors()[tensor];
    checkpoint_.read_block(t.name, offset, shape, {out, std::size_t(count(shape) * size_of(t.dtype))});
  }

  i64 cheapest_read() const override { return kChunkBytes; }  // each has a checksum

  Checkpoint checkpoint_;
};

}  // namespace

std::shared_ptr<const TensorReader> read_native_files(Checkpoint checkpoint) {
  return std::make_shared<NativeTensors>(std::move(checkpoint));
}

}  // namespace megalith
