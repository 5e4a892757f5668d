// Which CodedResult ops (ops/coded_result.h) one kernel computes by tiles of 128 x 128 values.
#pragma once
#include <optional>

#include "base/dtype.h"

namespace megalith {
struct CodedResult;
}

namespace megalith::cuda {

struct LocalNode;

// A row has the values of a token: of `matrices` matrices, one after another, `columns` of each. Row r of sequence q is
// token r * sequences + q. A tile has rows of one sequence.
struct CodedTiles {
  i64 sequences = 1, rows = 1, columns = 1;
  int matrices = 1;   // 2: gate and up
  int tensor = -1;    // the cast with one scale for all values; -1: none
  int features = -1;  // the cast with a scale for each 128 features of a token
  int tokens = -1;    // the cast with a scale for each 128 tokens of a feature, transposed by sequence
};
// Nothing: the separate ops run one after another.
std::optional<CodedTiles> coded_tiles(const CodedResult& op, const LocalNode& node);

}  // namespace megalith::cuda
