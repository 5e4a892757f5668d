// The loops of a spec over dense row-major tensors, with each operand's stride. Neighbouring loops are merged if the
// memory order allows it.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "base/shape.h"

namespace megalith {

constexpr int kMaxOperands = 3;

struct Loop {
  i64 n = 1;
  std::array<i64, kMaxOperands> stride{};  // in elements; 0 if the operand lacks the letter
};

struct Lettered {
  std::string letters;
  Shape shape;
};

// The loops of dense row-major operands. The last operand's letters come first, in its order, then the other letters.
// Letters of size 1 are left out. Two loops become one if the inner one covers the outer one's stride in every operand.
std::vector<Loop> make_loops(const std::vector<Lettered>& operands);

i64 size_of(const std::vector<Loop>& loops);  // the product of the sizes

// The offsets of iteration `i`, with the last loop fastest.
std::array<i64, kMaxOperands> offsets(const std::vector<Loop>& loops, i64 i);

}  // namespace megalith
