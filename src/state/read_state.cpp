#include "state/read_state.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "base/in_parallel.h"
#include "base/log.h"
#include "ckpt/any_checkpoint.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/tensors/tensor_table.h"
#include "mesh/block_copy.h"
#include "passes/quantize.h"
#include "plan/filled_writes.h"

namespace megalith {

namespace {

// Four reads under way are what a disk wants. On a device as many again hand on what they have read.
int readers(bool on_host) { return on_host ? 4 : 8; }

// fp8 scales that the checkpoint lacks, or that have a history of another length: they start empty.
bool starts_anew(const TensorReader& tensors, const StateTensor& t) {
  if (!t.name.ends_with(kScaleState)) return false;
  const auto at = tensors.find(t.name);
  return !at || tensors.tensors()[*at].shape != t.shape;
}

void tell_scales(const TensorReader& tensors, const ModelState& model) {
  const bool anew = std::ranges::any_of(model.tensors(), [&](const StateTensor& t) { return starts_anew(tensors, t); });
  if (anew) log::say("  the scales of fp8 start empty: {} has none for this recipe and history", tensors.where());
  const bool unread = !model.is_stage() && std::ranges::any_of(tensors.tensors(), [&](const TensorSpec& t) {
    return t.name.ends_with(kScaleState) && !model.has(t.name);
  });
  if (unread) log::say("  {} has scales of --fp8-recipe delayed, which are not read", tensors.where());
}

void check_tensors(const TensorReader& tensors, bool with_optimizer, const ModelState& model) {
  std::vector<NamedShape> expected, found;
  std::unordered_set<std::string> elsewhere;  // of which this rank holds nothing
  std::unordered_map<std::string, DType> wanted;
  for (const StateTensor& t : model.tensors()) {
    if ((!t.is_weight && !with_optimizer) || starts_anew(tensors, t)) continue;
    if (model.pieces(t).empty())
      elsewhere.insert(t.name);
    else
      expected.push_back({t.name, t.shape}), wanted.emplace(t.name, t.dtype());
  }
  for (const TensorSpec& t : tensors.tensors()) {
    if (!with_optimizer && is_optimizer_tensor(t.name)) continue;
    if (t.name.starts_with(kMtpPrefix) && !model.has(t.name)) continue;  // of training alone
    if (t.name.ends_with(kScaleState) && !wanted.contains(t.name)) continue;
    if (elsewhere.contains(t.name) || (model.is_stage() && !model.has(t.name))) continue;
    found.push_back({t.name, t.shape});
    const auto of = wanted.find(t.name);
    if (of == wanted.end()) continue;  // reported below
    check(is_float(of->second) ? is_float(t.dtype) : t.dtype == of->second, "{}: tensor {} is {}, want {}",
          tensors.where(), t.name, name_of(t.dtype),
          is_float(of->second) ? "a floating-point type" : name_of(of->second));
  }
  check_same_tensors("[load] " + tensors.where(), expected, found);
}

// From memory this many elements are copied at a time, so that they stay in a core's cache.
constexpr i64 kCachedElements = i64{1} << 17;

// The unit of one thread's reads: elements of a piece of the model's state, in its order.
struct Part {
  std::size_t stored = 0;
  StatePiece piece{};
  std::byte* seen = nullptr;     // the piece's memory, where it can be read into as it is
  std::optional<i64> stretch{};  // where its first element is in the tensor, if the others follow it there too
  i64 begin = 0, n = 0;
};

// In the order of the tensors, which is about that of the files.
std::vector<Part> parts_of(const TensorReader& tensors, bool with_optimizer, const ModelState& model) {
  std::vector<Part> parts;
  for (const StateTensor& t : model.tensors()) {
    if ((!t.is_weight && !with_optimizer) || starts_anew(tensors, t)) continue;
    for (const StatePiece& piece : model.pieces(t)) {
      Part part{.stored = tensors.at(t.name), .piece = piece};
      part.seen = piece.beside ? nullptr : model.host_view(piece);
      if (is_stretch(t.shape, piece.shape)) part.stretch = element_at(t.shape, piece.offset);
      for (const i64 all = count(piece.shape); part.begin < all; part.begin += part.n) {
        part.n = std::min(all - part.begin, kPieceElements);
        const i64 end = part.begin + part.n, at = part.stretch.value_or(0);
        const i64 cut = part.stretch && end < all ? tensors.cut_before(part.stored, at + end) - at : end;
        if (cut > part.begin) part.n = cut - part.begin;
        parts.push_back(part);
      }
    }
  }
  return parts;
}

// What one thread writes a part's elements with.
class PartWriter {
 public:
  explicit PartWriter(ModelState& model) : model_(model), filled_(dynamic_cast<FilledWrites*>(&model.interpreter())) {}

  // The n elements from `begin` on, which `read` puts down: once, where the piece has them as files do.
  void write(const Part& part, i64 begin, i64 n, const FilledWrites::Put& read) {
    const StatePiece& piece = part.piece;
    const i64 element = size_of(piece.dtype), bytes = n * element;
    if (part.seen) return read(part.seen + begin * element);
    if (filled_ && bytes <= FilledWrites::kMost && !piece.beside && piece.leaf->type.dtype == piece.dtype)
      return filled_->fill_part(*piece.leaf, (piece.begin + begin) * element, bytes, read);
    buffer_.resize(std::max(buffer_.size(), size_t(bytes)));
    read(buffer_.data());
    model_.write(piece, begin, std::span<const std::byte>(buffer_).first(size_t(bytes)));
  }

 private:
  ModelState& model_;
  FilledWrites* filled_;
  std::vector<std::byte> buffer_;
};

void read_part(const TensorReader& tensors, const Part& part, i64 at_once, PartWriter& writer) {
  const DType type = part.piece.dtype;
  if (part.stretch) {
    for (i64 begin = part.begin, n = 0, end = begin + part.n; begin < end; begin += n) {
      n = std::min(at_once, end - begin);
      writer.write(part, begin, n,
                   [&](std::byte* to) { tensors.read_range_as(part.stored, *part.stretch + begin, n, type, to); });
    }
    return;
  }
  i64 begin = part.begin;
  for_boxes(part.piece.shape, part.begin, part.n, [&](Shape offset, const Shape& box) {
    for (size_t d = 0; d < offset.size(); ++d) offset[d] += part.piece.offset[d];
    writer.write(part, begin, count(box), [&](std::byte* to) {
      tensors.read_box_as(part.stored, offset, box, type, {to, size_t(count(box) * size_of(type))});
    });
    begin += count(box);
  });
}

}  // namespace

i64 state_reading_bytes(i64 largest, bool on_host, bool has_copies) {
  constexpr i64 kPiece = kPieceElements * i64{sizeof(float)};
  const i64 piece = on_host && !has_copies ? 0 : std::min(kPiece, largest) * 3 / 2;
  return readers(on_host) * (2 * std::min(kChunkBytes, largest) + piece);
}

void read_state(const TensorReader& tensors, bool with_optimizer, ModelState& model, int threads) {
  check_tensors(tensors, with_optimizer, model);
  tell_scales(tensors, model);
  const std::vector<Part> parts = parts_of(tensors, with_optimizer, model);
  const bool fills = dynamic_cast<FilledWrites*>(&model.interpreter()) != nullptr;
  const i64 of_memory = fills ? FilledWrites::kMost / i64{sizeof(float)} : kCachedElements;
  const i64 at_once = threads > 0 ? of_memory : kPieceElements;
  std::atomic<size_t> next = 0;
  in_parallel(std::max(threads, readers(model.on_host())), [&](int) {
    try {
      PartWriter writer(model);
      for (size_t i; (i = next++) < parts.size();) read_part(tensors, parts[i], at_once, writer);
    } catch (...) {
      next = parts.size();  // damaged data is not read to its end
      throw;
    }
  });
}

}  // namespace megalith
