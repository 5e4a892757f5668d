#include "exec/cuda/products/gemm_variants.h"

#include <algorithm>

#include "base/check.h"

namespace megalith::cuda {

namespace {

constexpr int kMostTiles = 8;
constexpr int kMostOptions = 4;  // options a tile: twice as many as differ in speed

std::vector<int> tiles_offered(const cublasLtMatmulAlgo_t& algorithm) {
  std::vector<u32> ids(4096);  // the library has 634
  size_t written = 0;
  cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, ids.data(), ids.size() * sizeof(u32),
                                    &written);
  return {ids.begin(), ids.begin() + i64(std::min(ids.size(), written / sizeof(u32)))};
}

u32 options_of(const cublasLtMatmulAlgo_t& algorithm) {
  i32 most = 0;
  size_t written = 0;
  cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, &most, sizeof most, &written);
  return u32(std::clamp(most, 0, 15)) + 1;
}

template <class T>
T setting(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t what) {
  T value{};
  size_t written = 0;
  cublasLtMatmulAlgoConfigGetAttribute(&algorithm, what, &value, sizeof value, &written);
  return value;
}

template <class T>
bool configure(cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t what, T value) {
  return cublasLtMatmulAlgoConfigSetAttribute(&algorithm, what, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
}

bool whole_sums(const cublasLtMatmulAlgo_t& a) {
  return setting<i32>(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) <= 1 &&
         setting<u32>(a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) == CUBLASLT_REDUCTION_SCHEME_NONE;
}

}  // namespace

std::string settings(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const auto what : {CUBLASLT_ALGO_CONFIG_ID, CUBLASLT_ALGO_CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
                          CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, CUBLASLT_ALGO_CONFIG_STAGES_ID})
    text += fmt::format("{} ", setting<u32>(algorithm, what));
  return text + fmt::format("{}", setting<u16>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));
}

bool is_deterministic(const cublasLtMatmulAlgo_t& algorithm) {
  u32 reduction = 0;
  size_t written = 0;
  const auto status = cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                                           &reduction, sizeof reduction, &written);
  return status == CUBLAS_STATUS_SUCCESS && !(reduction & ~u32(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
}

std::vector<Variant> variants(const std::vector<cublasLtMatmulAlgo_t>& suggestions, const TiledProduct& product,
                              int most, const std::function<bool(const cublasLtMatmulAlgo_t&)>& possible) {
  // Variants start from the first suggestion of the algorithm with the most tiles. On Hopper one algorithm has several
  // hundred.
  const cublasLtMatmulAlgo_t* base = nullptr;
  std::vector<int> offered, suggested;
  for (const cublasLtMatmulAlgo_t& a : suggestions) {
    suggested.push_back(int(setting<u32>(a, CUBLASLT_ALGO_CONFIG_TILE_ID)));
    if (!whole_sums(a)) continue;
    if (std::vector<int> tiles = tiles_offered(a); tiles.size() > offered.size()) base = &a, offered = tiles;
  }
  std::vector<Variant> all;
  if (!base) return all;
  const u32 options = options_of(*base);
  for (const Cut& cut : promising_cuts(product, offered, suggested, kMostTiles)) {
    const u16 cluster = cut.pairs_along_cols ? CUBLASLT_CLUSTER_SHAPE_1x2x1 : CUBLASLT_CLUSTER_SHAPE_2x1x1;
    int found = 0;
    for (u32 option = 0; option < options && found < kMostOptions && int(all.size()) < most; ++option) {
      Variant v{*base, cut.tile.id};
      if (configure(v.algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, u32(cut.tile.id)) &&
          configure(v.algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster) &&
          configure(v.algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, option) && possible(v.algorithm))
        all.push_back(v), ++found;
    }
  }
  return all;
}

}  // namespace megalith::cuda
