// Logical arrays and the blocks of them that ranks hold. Everything is f64 here, integers too; buffers are converted on
// the way in and out.
#pragma once
#include <string>
#include <vector>

#include "graph/type.h"

namespace megalith::harness {

struct Tensor {
  Shape shape;
  std::vector<double> v;  // row-major
};

// One rank's local values each, row-major, by rank.
using Blocks = std::vector<std::vector<double>>;

Tensor filled(const Shape& shape, double value);
Tensor random_tensor(const Shape& shape, u64 seed);               // standard normal
Tensor random_integers(const Shape& shape, i64 below, u64 seed);  // 0 .. below - 1

// The largest absolute difference; infinite if the shapes differ or an element is not a number.
double max_difference(const Tensor& a, const Tensor& b);
double norm(const Tensor& a);

// The ranks' blocks of a logical array. A partial sum gets random terms that add up to it.
Blocks place(const Mesh& mesh, const Type& type, const Tensor& logical, u64 seed = 7);

// The logical array that blocks stand for. Error if replicas (Same, Copy) differ in a bit.
Tensor assemble(const Mesh& mesh, const Type& type, const Blocks& blocks);

// A buffer's bytes as numbers and back. Element types: f32, f64, bf16, i32, i64.
std::vector<double> from_bytes(DType dtype, const std::byte* data, i64 n);
void to_bytes(DType dtype, const std::vector<double>& v, std::byte* data);

}  // namespace megalith::harness
