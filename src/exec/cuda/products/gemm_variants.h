// Ways to compute a product that cuBLASLt's heuristics do not name: a suggested algorithm of theirs with a tile that
// cuts the product better (gemm_tiles.h), and the custom options that the library says belong to it.
#pragma once
#include <cublasLt.h>

#include <functional>
#include <string>
#include <vector>

#include "exec/cuda/products/gemm_tiles.h"

namespace megalith::cuda {

// GemmTile, custom option and what else decides how an algorithm computes; as text.
std::string settings(const cublasLtMatmulAlgo_t& algorithm);
// Whether it adds in one order, all in f32.
bool is_deterministic(const cublasLtMatmulAlgo_t& algorithm);

struct Variant {
  cublasLtMatmulAlgo_t algorithm;
  int tile = 0;
};

// At most `most`, those that should be fastest first, without cut sums. `possible`: whether the library can compute the
// product so.
std::vector<Variant> variants(const std::vector<cublasLtMatmulAlgo_t>& suggestions, const TiledProduct& product,
                              int most, const std::function<bool(const cublasLtMatmulAlgo_t&)>& possible);

}  // namespace megalith::cuda
