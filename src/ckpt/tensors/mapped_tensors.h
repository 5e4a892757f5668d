// Tensors of one set put together from those of another: Hugging Face's names and orders as ours, Megatron's as ours,
// and back. The links between them are strided blocks (strided.h); a range of a tensor is made from just those ranges
// of the others that it needs.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "ckpt/tensors/strided.h"
#include "ckpt/tensors/tensor_reader.h"
#include "ckpt/tensors/tensor_table.h"

namespace megalith {

struct TensorLink {
  std::size_t theirs, ours;  // indices into TensorMapping's lists
  Strides block;
};

struct TensorMapping {
  std::vector<NamedShape> theirs;  // tensors of the files, in the model's order
  std::vector<NamedShape> ours;    // logical parameters, in the model's order
  std::vector<TensorLink> links;
};

// The links of the mapping whose tensors on our side are `wanted`. Error if that splits a tensor of the other side.
TensorMapping part_of(const TensorMapping& mapping, const std::function<bool(const std::string& ours)>& wanted);

enum class MapTo { ours, theirs };

class MappedTensors final : public TensorReader {
 public:
  // The tensors of one side of the mapping. `source` has the tensors of the other side, under names that `spell` may
  // change. `type`: of the result; none: that of the sources, or the one that can hold all of them. Elements without a
  // link are 0. Error if `source` lacks a tensor, or has it in another shape.
  struct Options {
    std::optional<DType> type{};
    std::function<std::string(const std::string& name)> spell{};
    std::string prefix{};  // of the resulting names
  };
  MappedTensors(std::shared_ptr<const TensorReader> source, const TensorMapping& mapping, MapTo side,
                const Options& options);

 private:
  // A block with its dimensions by falling steps on our side; the last has step 1. It is transposed where its rows here
  // are columns in the source.
  struct Part {
    std::size_t source;
    std::array<i64, 3> size, to, from;
    i64 to_start, from_start;
  };
  struct Target {
    std::vector<Part> parts;
    bool covered;     // every element is linked to
    bool transposed;  // a part is
  };

  static Part make_part(const Strides& block, MapTo side, std::size_t source);
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override;
  void do_read_strip(std::size_t tensor, const Strip& strip, std::byte* out) const override;
  void do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const override;
  template <class F>
  static void for_rows(const Part& part, i64 begin, i64 end, F&& f);
  void copy_transposed(const Part& part, const Strip& strip, DType type, std::byte* out) const;

  std::shared_ptr<const TensorReader> source_;
  std::vector<Target> targets_;
};

}  // namespace megalith
