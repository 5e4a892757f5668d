// Weights of 8 bits with a scale for each block, as DeepSeek-V3 is published: NAME of type F8_E4M3 [rows, columns], and
// NAME_scale_inv [blocks of rows, blocks of columns] in a float type. An element is its code times its block's scale,
// multiplied in f32. The last block of a row or column may be cut.
#pragma once
#include <memory>
#include <string>

#include "ckpt/tensors/tensor_reader.h"

namespace megalith {

// Elements of a whole block, config.json's weight_block_size.
struct Fp8Blocks {
  i64 rows = 0, columns = 0;
};

inline constexpr std::string_view kFp8Scale = "_scale_inv";

// The tensors of `files`, each of codes as f32 and without its scales. Error unless every one of codes has scales of
// its shape, and all scales belong to one.
std::shared_ptr<const TensorReader> read_fp8_weights(std::shared_ptr<const TensorReader> files,
                                                     const Fp8Blocks& blocks);

}  // namespace megalith
