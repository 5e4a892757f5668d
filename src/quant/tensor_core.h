// What a product of fp8 codes may lose on Hopper's tensor cores, which keep fewer bits of a sum than f32 has.
//
// They take 32 products at a time, which are exact. These and the sum so far are cut to 13 bits below the largest
// power of two among them, and added. That sum is cut to 13 bits in turn. With split accumulation it enters f32 after
// each 128 products, and a new sum begins. So a term that is no multiple of the step 2^(e - 13) loses less than a step.
// The products of two codes have few bits: only those far below the largest lose anything.
#pragma once
#include <span>

#include "base/dtype.h"

namespace megalith::quant {

// products[i]: of two codes, as they stand along the sum, in any unit that is a power of two. `part`: how many are
// added before the sum enters f32. Returns a bound of what is lost of their sum, in that unit.
double lost_on_tensor_cores(std::span<const double> products, i64 part = 128);

}  // namespace megalith::quant
