// A Hugging Face model of zeros, which takes no room on the disk.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::test {

struct SparseTensor {
  std::string name;
  i64 rows, columns;  // no columns: a vector
};

// DIR/config.json and DIR/model.safetensors, f32. Gives the tensors' bytes.
i64 write_sparse_model(const std::string& dir, const std::string& config, const std::vector<SparseTensor>& tensors);

}  // namespace megalith::test
