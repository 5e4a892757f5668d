// A bound of the error of fp8 products on Hopper's tensor cores. They keep fewer bits of a sum than f32 has.
//
// They take 32 exact products at a time. These and the sum so far are cut to 13 bits below their largest power of two,
// and added. The new sum is cut to 13 bits too. With split accumulation it is added in f32 after each 128 products, and
// a new sum begins. So a term that is no multiple of the step 2^(e - 13) loses less than a step. The product of two
// codes has few bits, so only products far below the largest one lose anything.
#pragma once
#include <span>

#include "base/dtype.h"

namespace megalith::quant {

// products[i]: of two codes, in the order of the sum, in any unit that is a power of two. `part`: the number of
// products that are added before the sum enters f32. Returns a bound of the error of their sum, in that unit.
double lost_on_tensor_cores(std::span<const double> products, i64 part = 128);

}  // namespace megalith::quant
