// The loops that a spec over dense row-major tensors means, with each operand's stride, neighbours merged where memory
// allows.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "base/shape.h"

namespace megalith {

constexpr int kMaxOperands = 3;

struct Loop {
  i64 n = 1;
  std::array<i64, kMaxOperands> stride{};  // elements; 0 where the operand lacks the letter
};

struct Lettered {
  std::string letters;
  Shape shape;
};

// Of dense row-major operands. The last operand's letters come first, in its order, then the others'. Letters of size 1
// are left out; two loops become one where the inner one covers the outer one's stride in every operand.
std::vector<Loop> make_loops(const std::vector<Lettered>& operands);

i64 size_of(const std::vector<Loop>& loops);  // the product of the sizes

// The offsets of iteration `i` of the loops, the last loop fastest.
std::array<i64, kMaxOperands> offsets(const std::vector<Loop>& loops, i64 i);

}  // namespace megalith
