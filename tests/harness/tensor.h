// Logical arrays and the ranks' blocks of them. Everything here is f64, including integers; buffers are converted.
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

// The largest absolute difference; infinite if the shapes differ or an element is NaN.
double max_difference(const Tensor& a, const Tensor& b);
double norm(const Tensor& a);

// The ranks' blocks of a logical array. For Partial, random terms that sum to it.
Blocks place(const Mesh& mesh, const Type& type, const Tensor& logical, u64 seed = 7);

// The logical array of the blocks. Error if replicas (Same, Copy) differ in a bit.
Tensor assemble(const Mesh& mesh, const Type& type, const Blocks& blocks);

// Converts between a buffer's bytes and numbers. Element types: f32, f64, bf16, i32, i64.
std::vector<double> from_bytes(DType dtype, const std::byte* data, i64 n);
void to_bytes(DType dtype, const std::vector<double>& v, std::byte* data);

}  // namespace megalith::harness
