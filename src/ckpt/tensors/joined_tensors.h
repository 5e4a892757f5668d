// Several sets of tensors as one.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "ckpt/tensors/tensor_reader.h"

namespace megalith {

class JoinedTensors final : public TensorReader {
 public:
  explicit JoinedTensors(std::string where) : TensorReader(std::move(where)) {}
  // Adds all tensors of `part`, or those whose names `wanted` accepts. Error if a name exists already.
  void join(std::shared_ptr<const TensorReader> part, const std::function<bool(const std::string&)>& wanted = {});
  i64 cut_before(std::size_t tensor, i64 end) const override;

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override;
  void do_read_strip(std::size_t tensor, const Strip& strip, std::byte* out) const override;
  void do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const override;

  struct Place {
    const TensorReader* part;
    std::size_t tensor;
  };
  std::vector<std::shared_ptr<const TensorReader>> parts_;
  std::vector<Place> places_;
};

}  // namespace megalith
