// torch.randperm on the CPU, bit for bit: the order of the cyclic sampler.
#pragma once
#include <vector>

#include "base/dtype.h"

namespace megalith {

// The same permutation of 0..n-1 as torch.randperm(n, generator=torch.Generator().manual_seed(seed)).
std::vector<i64> torch_randperm(i64 n, u64 seed);

}  // namespace megalith
