// Sizes of nodes, as kernels count them.
#pragma once
#include "exec/cuda_needs/embedding_lists.h"
#include "exec/cuda_needs/local_node.h"
#include "exec/cuda_needs/norm_shape.h"

namespace megalith::cuda {

// `rows`: input of shape [.., width]; `table`: input whose dim 0 are the ids. The tokens are input 0.
EmbeddingShape embedding_shape(const LocalNode& node, int rows, int table);

// x: the norm's input; its weights follow.
NormShape norm_shape(std::string_view op, const LocalNode& node, int x, bool centred);
NormDevice norm_device(const LocalNode& node);

}  // namespace megalith::cuda
