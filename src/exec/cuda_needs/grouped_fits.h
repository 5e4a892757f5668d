// Which grouped products go to Hopper's tensor cores, and how many multiprocessors they take.
#pragma once
#include "exec/cuda_needs/local_node.h"
#include "ops/grouped_product.h"

namespace megalith::cuda {

GroupedShape grouped_shape(const GroupedProduct& op, const LocalNode& node);

// Whether products/grouped_hopper.cu takes it: bf16, rows of 16-byte pieces for the copy engine, a weight gradient in
// f32; added to is a weight gradient alone.
bool grouped_fits(const GroupedProduct& op, const LocalNode& node);

// Of those: all, but for weight gradients where ranks share experts. They overlap transfers of tokens
// (passes/overlap_dispatch.cpp), and a transfer that finds no multiprocessor free starts after them.
int grouped_multiprocessors(const GroupedProduct& op, const LocalNode& node);

constexpr i64 kGroupedWorkspace = sizeof(int);  // of those: the ticket of the next tile

}  // namespace megalith::cuda
