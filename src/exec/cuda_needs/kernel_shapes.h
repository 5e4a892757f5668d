// Sizes of nodes, in the form that kernels use.
#pragma once
#include "exec/cuda_needs/embedding_lists.h"
#include "exec/cuda_needs/local_node.h"
#include "exec/cuda_needs/norm_shape.h"

namespace megalith::cuda {

// `rows`: index of the input of shape [.., width]; `table`: of the input whose dim 0 is the ids. The tokens are input
// 0.
EmbeddingShape embedding_shape(const LocalNode& node, int rows, int table);

// x: index of the norm's input; its weights follow.
NormShape norm_shape(std::string_view op, const LocalNode& node, int x, bool centred);
NormDevice norm_device(const LocalNode& node);

}  // namespace megalith::cuda
