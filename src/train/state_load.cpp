#include "train/state_load.h"

#include <algorithm>
#include <atomic>

#include "base/in_parallel.h"
#include "ckpt/any_checkpoint.h"
#include "ckpt/block_copy.h"
#include "ckpt/checkpoint_layout.h"
#include "ckpt/tensor_table.h"

namespace megalith {

namespace {

// Four reads under way are what a disk wants. On a device as many again hand on what they have read.
int readers(bool on_host) { return on_host ? 4 : 8; }

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

// What one thread reads at a time: elements of a piece of the model's state, in its order.
struct Part {
  std::size_t stored;
  StatePiece piece;
  float* seen;  // the piece's memory, where it can be read into as it is
  i64 begin, n;
};

// In the order of the tensors, which is about that of the files.
std::vector<Part> parts_of(const TensorReader& tensors, bool with_optimizer, const ModelState& model) {
  std::vector<Part> parts;
  for (const StateTensor& t : model.tensors()) {
    if (!t.is_weight && !with_optimizer) continue;
    for (const StatePiece& piece : model.pieces(t)) {
      float* seen = piece.beside ? nullptr : model.host_view(piece);
      for_pieces(count(piece.shape), [&](i64 begin, i64 n) {
        parts.push_back({tensors.at(t.name), piece, seen, begin, n});
      });
    }
  }
  return parts;
}

void read_part(const TensorReader& tensors, const Part& part, ModelState& model, std::vector<float>& buffer) {
  i64 done = part.begin;
  for_boxes(part.piece.shape, part.begin, part.n, [&](Shape offset, const Shape& box) {
    for (size_t d = 0; d < offset.size(); ++d) offset[d] += part.piece.offset[d];
    const auto n = size_t(count(box));
    if (!part.seen) buffer.resize(std::max(buffer.size(), n));
    const std::span<float> out(part.seen ? part.seen + done : buffer.data(), n);
    tensors.read_box_as(part.stored, offset, box, DType::f32, std::as_writable_bytes(out));
    if (!part.seen) model.write(part.piece, done, out);
    done += i64(n);
  });
}

}  // namespace

i64 state_reading_bytes(i64 largest, bool on_host, bool has_copies) {
  constexpr i64 kPiece = kPieceElements * i64{sizeof(float)};
  const i64 piece = on_host && !has_copies ? 0 : std::min(kPiece, largest) * 3 / 2;
  return readers(on_host) * (2 * std::min(kChunkBytes, largest) + piece);
}

void read_state(const TensorReader& tensors, bool with_optimizer, ModelState& model) {
  check_tensors(tensors, with_optimizer, model);
  const std::vector<Part> parts = parts_of(tensors, with_optimizer, model);
  std::atomic<size_t> next = 0;
  in_parallel(readers(model.on_host()), [&](int) {
    try {
      std::vector<float> buffer;
      for (size_t i; (i = next++) < parts.size();) read_part(tensors, parts[i], model, buffer);
    } catch (...) {
      next = parts.size();  // what is damaged is not read to its end
      throw;
    }
  });
}

}  // namespace megalith
