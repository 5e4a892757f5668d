#include "train/state_load.h"

#include <atomic>

#include "base/in_parallel.h"
#include "ckpt/any_checkpoint.h"
#include "ckpt/block_copy.h"
#include "ckpt/checkpoint_layout.h"
#include "ckpt/tensor_table.h"

namespace megalith {

namespace {

constexpr int kReaders = 4;

void check_tensors(const TensorReader& tensors, bool with_optimizer, const ModelState& model) {
  std::vector<NamedShape> expected, found;
  std::unordered_set<std::string> elsewhere;  // of which this rank holds nothing
  for (const StateTensor& t : model.tensors()) {
    if (!t.is_weight && !with_optimizer) continue;
    if (model.pieces(t).empty())
      elsewhere.insert(t.name);
    else
      expected.push_back({t.name, t.shape});
  }
  for (const TensorSpec& t : tensors.tensors()) {
    if (!with_optimizer && is_optimizer_tensor(t.name)) continue;
    if (elsewhere.contains(t.name) || (model.is_stage() && !model.has(t.name))) continue;
    found.push_back({t.name, t.shape});
    check(is_float(t.dtype), "{}: tensor {} is {}, want a floating-point type", tensors.where(), t.name,
          name_of(t.dtype));
  }
  check_same_tensors("[load] " + tensors.where(), expected, found);
}

class StateReader {
 public:
  StateReader(const TensorReader& tensors, ModelState& model) : tensors_(tensors), model_(model) {}

  void read(const StateTensor& t, const StatePiece& piece, std::vector<float>& buffer) {
    const std::size_t stored = tensors_.at(t.name);
    float* seen = piece.beside ? nullptr : model_.host_view(piece);
    if (seen) return read_box(stored, piece.offset, piece.shape, {seen, size_t(count(piece.shape))});
    i64 done = 0;
    for_pieces(count(piece.shape), [&](i64 begin, i64 n) {
      for_boxes(piece.shape, begin, n, [&](const Shape& at, const Shape& box) {
        Shape offset = piece.offset;
        for (size_t d = 0; d < at.size(); ++d) offset[d] += at[d];
        buffer.resize(size_t(count(box)));
        read_box(stored, offset, box, buffer);
        model_.write(piece, done, buffer);
        done += count(box);
      });
    });
  }

 private:
  void read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::span<float> out) const {
    tensors_.read_box_as(tensor, offset, shape, DType::f32, std::as_writable_bytes(out));
  }

  const TensorReader& tensors_;
  ModelState& model_;
};

}  // namespace

i64 state_reading_bytes(i64 largest, bool in_place) {
  constexpr i64 kPiece = kPieceElements * i64{sizeof(float)};
  return kReaders * (2 * std::min(kChunkBytes, largest) + (in_place ? 0 : std::min(kPiece, largest) * 3 / 2));
}

void read_state(const TensorReader& tensors, bool with_optimizer, ModelState& model) {
  check_tensors(tensors, with_optimizer, model);
  StateReader reader(tensors, model);
  std::atomic<size_t> next = 0;
  in_parallel(kReaders, [&](int) {
    std::vector<float> buffer;
    for (size_t i; (i = next++) < model.tensors().size();) {
      const StateTensor& t = model.tensors()[i];
      if (!t.is_weight && !with_optimizer) continue;
      for (const StatePiece& piece : model.pieces(t)) reader.read(t, piece, buffer);
    }
  });
}

}  // namespace megalith
