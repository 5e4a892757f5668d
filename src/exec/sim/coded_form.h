// The part of a kernel's form that describes codes of 8 or 4 bits: of products of codes, and of casts to codes.
#pragma once
#include <string>
#include <string_view>

#include "exec/cuda_needs/local_node.h"
#include "ops/coded_result.h"

namespace megalith::sim {

// Both factors of a product, the left one first. The first word decides the rate:
//   f8_tensors e4m3 x e5m2             one scale an operand
//   f8_blocks e4m3 rows x e4m3 squares blocks of 128 values
//   decoded e4m3 x e4m3                a product of decoded values
std::string factors_form(const QuantizedProduct& op, const cuda::LocalNode& node, bool swapped);

// Of a cast: what its scales are computed from, the boxes of values with one scale, and the order of its codes.
std::string cast_form(const Quantize& cast);
// Of an op whose result is cast: also the op.
std::string casts_form(const CodedResult& op);

// Whether a product of this form multiplies codes of 8 bits.
bool multiplies_codes(std::string_view form);

}  // namespace megalith::sim
