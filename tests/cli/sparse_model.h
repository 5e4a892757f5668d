// Writes a Hugging Face model of zeros as a sparse file.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::test {

struct SparseTensor {
  std::string name;
  i64 rows, columns;  // columns 0: a vector
};

// Writes DIR/config.json and DIR/model.safetensors in f32. Returns the size of the tensors in bytes.
i64 write_sparse_model(const std::string& dir, const std::string& config, const std::vector<SparseTensor>& tensors);

}  // namespace megalith::test
