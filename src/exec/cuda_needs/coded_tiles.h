// Which CodedResult ops (ops/coded_result.h) have a kernel. It computes tiles of 128 x 128 values.
#pragma once
#include <optional>

#include "base/dtype.h"

namespace megalith {
struct CodedResult;
struct Graph;
struct Node;
}  // namespace megalith

namespace megalith::cuda {

struct GpuSizes;
struct LocalNode;

// What computes the values: no op, SwiGLU, its gradient, or RMSNorm.
enum class ValuesBy : u8 { none, gated, gated_grad, normed };

// A row has the values of a token: `columns` of each matrix. Row r of sequence q is token r * sequences + q. A tile has
// rows of one sequence.
struct CodedTiles {
  ValuesBy by = ValuesBy::none;
  i64 sequences = 1, rows = 1, columns = 1;
  int tensor = -1;    // the cast with one scale for all values; -1: none
  int features = -1;  // the cast with a scale for each 128 features of a token
  int tokens = -1;    // the cast with a scale for each 128 tokens of a feature, transposed by sequence
};
std::optional<CodedTiles> coded_tiles(const CodedResult& op, const LocalNode& node);

// Whether node n, a CodedResult, has a kernel.
bool has_coded_kernel(const Graph& g, const Node& n, const GpuSizes& gpu);

}  // namespace megalith::cuda
