// y = table[ids], and its gradient. ids i32, `tokens` of them. The rank's rows of the table are those of ids first ..
// first + rows - 1. Other ids give zeros, and add no gradient.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/embedding_lists.h"

namespace megalith::cuda {

void launch_embedding(const EmbeddingShape& s, i64 element_bytes, const i32* ids, const void* table, void* y,
                      cudaStream_t stream);

// dtable = (acc +) the rows of dy by id, summed in f32: each chunk of tokens in order, then the chunks in order.
struct EmbeddingGradLaunch {
  EmbeddingShape shape;
  DType dy, table;
  int blocks;
  i64 workspace;  // bytes
};
EmbeddingGradLaunch plan_embedding_grad(const EmbeddingShape& s, DType dy, DType table, int sms);
// `add`: adds to the table; otherwise writes all of it. `marks`: one for each row, whether the table holds a gradient
// in it; or nullptr. Rows without a mark count as zeros, and are not written.
void launch(const EmbeddingGradLaunch& l, bool add, const i32* ids, const void* dy, void* table, u8* marks,
            void* workspace, cudaStream_t stream);

}  // namespace megalith::cuda
