// Ways to compute a product that cuBLASLt's heuristics do not name. A variant is a suggested algorithm with a tile that
// suits the product better (gemm_tiles.h). It also has the custom options that the library requires.
#pragma once
#include <cublasLt.h>

#include <functional>
#include <string>
#include <vector>

#include "exec/cuda/products/gemm_tiles.h"

namespace megalith::cuda {

// The tile, the custom option, and everything else that decides how an algorithm computes, as text.
std::string settings(const cublasLtMatmulAlgo_t& algorithm);
// Whether it adds in a fixed order, all in f32.
bool is_deterministic(const cublasLtMatmulAlgo_t& algorithm);

struct Variant {
  cublasLtMatmulAlgo_t algorithm;
  int tile = 0;
};

// At most `most` variants, the presumably fastest first, without cut sums. `possible`: whether the library can compute
// the product with a variant.
std::vector<Variant> variants(const std::vector<cublasLtMatmulAlgo_t>& suggestions, const TiledProduct& product,
                              int most, const std::function<bool(const cublasLtMatmulAlgo_t&)>& possible);

}  // namespace megalith::cuda
