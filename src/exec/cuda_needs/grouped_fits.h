// Which grouped products use Hopper's tensor cores, and on how many multiprocessors.
#pragma once
#include "exec/cuda_needs/local_node.h"
#include "ops/quantized_grouped_product.h"

namespace megalith::cuda {

GroupedShape grouped_shape(const GroupedProduct& op, const LocalNode& node);
GroupedShape grouped_shape(const QuantizedGroupedProduct& op, const LocalNode& node);

// Whether products/grouped_hopper.cu supports it: bf16, and rows of whole 16-byte pieces for the copy engine. Weight
// gradients are f32. Only they may have an accumulator.
bool grouped_fits(const GroupedProduct& op, const LocalNode& node);

// The same for products/grouped_codes_hopper.cu: fp8 codes whose summed dims are last, with rows of whole 16-byte
// pieces.
bool grouped_fits(const QuantizedGroupedProduct& op, const LocalNode& node);

// The number of multiprocessors for such a product: all. Weight gradients take fewer if ranks share experts. They
// overlap transfers of tokens (passes/overlap_dispatch.cpp), and a transfer without a free multiprocessor would start
// after them.
int grouped_multiprocessors(const GroupedProduct& op, const LocalNode& node);

constexpr i64 kGroupedWorkspace = sizeof(int);  // the ticket of the next tile

}  // namespace megalith::cuda
