// One file of torch.save, or one item of a .distcp file: a pickle and its tensors in a zip archive.
#pragma once
#include <optional>
#include <string>

#include "ckpt/torch/pickle.h"
#include "ckpt/torch/torch_zip.h"

#include "base/shape.h"

namespace megalith {

struct TorchTensor {
  std::string type;      // torch's word: "bfloat16"
  Shape shape, strides;  // in elements
  i64 position = 0;      // of the first element, in bytes from the start of the archive
  bool swapped = false;  // stored big-endian

  DType dtype() const;  // Error for types that we have no DType for
};

std::optional<DType> dtype_of_torch(std::string_view type);  // "bfloat16"
std::string_view torch_name_of(DType type);
std::string_view torch_storage_of(DType type);  // "BFloat16Storage"; "": newer types, whose storage is untyped

struct TensorCall {  // the arguments of the function that makes a tensor from its storage
  std::string_view function;
  const std::vector<const PickleValue*>& args;
};

class TorchFile {
 public:
  TorchFile(const FileRange& archive, const std::string& where);

  const PickleValue& root() const { return pickle_.root(); }
  const TorchZip& zip() const { return zip_; }
  // nullopt if the value is no tensor. Error, with `name`, if a tensor leaves its storage, or if its numbers differ
  // from the stored ones.
  std::optional<TorchTensor> tensor(const PickleValue& value, const std::string& name = "") const;
  // Of a contiguous tensor that is small. Error, with `name`, if the value is another one, or no tensor.
  std::vector<std::byte> bytes(const PickleValue& value, const std::string& name) const;
  // A number, or the value of a tensor of one f32; nullopt for anything else.
  std::optional<double> number(const PickleValue& value) const;

 private:
  TorchTensor place(const TensorCall& call, const std::string& name) const;

  TorchZip zip_;
  Pickle pickle_;
  bool swapped_;
};

}  // namespace megalith
