// Tensors as files store them: each in disjoint boxes at some offsets in files. All formats that we read become one of
// these; they differ only in how the boxes are found.
#pragma once
#include <memory>

#include "ckpt/tensors/block_file.h"
#include "ckpt/tensors/tensor_reader.h"

namespace megalith {

struct StoredBox {
  Shape offset, shape;
  Shape strides;         // in elements; of the box in its file
  std::size_t file = 0;  // as add_file numbered it
  i64 position = 0;      // of the box's first element, in bytes
  bool swapped = false;  // bytes of each element in the other order
};

class TensorStore final : public TensorReader {
 public:
  // `past_cache`: long stretches are read past the page cache: faster, unless another process of this host reads them
  // too.
  explicit TensorStore(std::string where, bool past_cache = false);

  bool past_cache() const { return past_cache_; }
  std::size_t add_file(const std::string& path);  // opens it, once
  const ReadFile& file(std::size_t number) const { return files_[number]->bytes(); }
  // Error if boxes leave the tensor or the file, overlap, or leave gaps.
  void add_tensor(TensorSpec spec, std::vector<StoredBox> boxes);
  const std::vector<StoredBox>& boxes(std::size_t tensor) const { return boxes_[tensor]; }

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override;
  void do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const override;
  void do_read_strip(std::size_t tensor, const Strip& strip, std::byte* out) const override;
  void check_boxes(const TensorSpec& spec, const std::vector<StoredBox>& boxes) const;

  bool past_cache_;
  mutable BlockPool stretches_;
  std::vector<std::unique_ptr<BlockFile>> files_;
  std::unordered_map<std::string, std::size_t> file_index_;
  std::vector<std::vector<StoredBox>> boxes_;
};

}  // namespace megalith
