// The checks of each file of vectors: what its tensors are, and which of our functions gives them. Shapes and settings
// are the file's. Error if a tensor is missing, or of a type or shape that does not fit the others.
#pragma once
#include "cli/fp8/vector_check.h"

namespace megalith::fp8 {

void check_casts(VectorFile& file, VectorCheck& held);
void check_scales(VectorFile& file, VectorCheck& held);
void check_delayed(VectorFile& file, VectorCheck& held);
void check_tensorwise(VectorFile& file, VectorCheck& held);
void check_blockwise(VectorFile& file, VectorCheck& held);
void check_mxfp8(VectorFile& file, VectorCheck& held);
void check_nvfp4(VectorFile& file, VectorCheck& held);
void check_loss_scale(VectorFile& file, VectorCheck& held);

}  // namespace megalith::fp8
