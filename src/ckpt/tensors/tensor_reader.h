// A set of tensors that can be read in boxes: files of any format, or another set with other names and orders.
// Readers ask for the boxes that they need; no reader holds a full tensor.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ckpt/tensors/safetensors.h"
#include "mesh/block_copy.h"

namespace megalith {

class TensorReader {
 public:
  virtual ~TensorReader() = default;

  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  const std::string& where() const { return where_; }  // for messages
  std::optional<std::size_t> find(const std::string& name) const;
  std::size_t at(const std::string& name) const;  // Error if absent

  // Elements [begin, begin + n) of a tensor in row-major order and stored type. May be called by several threads.
  void read_range(std::size_t tensor, i64 begin, i64 n, std::byte* out) const;
  // The same as another float type. Error, as in the next two, if f16 or bf16 can't hold a number: it would be
  // infinite.
  void read_range_as(std::size_t tensor, i64 begin, i64 n, DType type, std::byte* out) const;
  // All runs of a strip, one after the other, as `type`. Error if they are not in the tensor, or overlap.
  void read_strip_as(std::size_t tensor, const Strip& strip, DType type, std::byte* out) const;
  // The box of shape `shape` at `offset`, as `type`. Uses bounded memory besides `out`. Reads only pages, or chunks
  // with a checksum, that overlap it.
  void read_box_as(std::size_t tensor, const Shape& offset, const Shape& shape, DType type,
                   std::span<std::byte> out) const;
  // The last element, at most `end`, where a range should end so that consecutive ranges read no data twice.
  virtual i64 cut_before(std::size_t /*tensor*/, i64 end) const { return end; }

 protected:
  explicit TensorReader(std::string where) : where_(std::move(where)) {}
  std::size_t add(TensorSpec spec);  // Error if there is one of this name
  virtual void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const = 0;
  // A box in stored type; by ranges, where a set has no better way.
  virtual void do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const;
  virtual void do_read_strip(std::size_t tensor, const Strip& strip, std::byte* out) const;
  // A shorter range costs as much as one of this many bytes: the disk's read size.
  virtual i64 cheapest_read() const { return i64{64} << 10; }

 private:
  std::string where_;
  std::vector<TensorSpec> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
};

// Elements of the largest chunk that conversions hold at once.
inline constexpr i64 kPieceElements = i64{1} << 22;

// Calls f(begin, n) for chunks of a tensor with this many elements.
template <class F>
void for_pieces(i64 elements, F&& f) {
  for (i64 begin = 0; begin < elements; begin += kPieceElements)
    f(begin, elements - begin < kPieceElements ? elements - begin : kPieceElements);
}

// Elements of one type as another, rounded to nearest even; types other than floats only as themselves.
void convert_elements(DType from, const std::byte* in, DType to, std::byte* out, i64 n);

}  // namespace megalith
