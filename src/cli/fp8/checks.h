// The checks of each file of vectors: its tensors, and the function of ours for each. Shapes and settings come from
// the file. Error if a tensor is missing, or if its type or shape does not fit the others.
#pragma once
#include <optional>

#include "cli/fp8/vector_check.h"
#include "quant/delayed.h"

namespace megalith::fp8 {

void check_casts(VectorFile& file, VectorCheck& held);
void check_scales(VectorFile& file, VectorCheck& held);
void check_delayed(VectorFile& file, VectorCheck& held);
void check_tensorwise(VectorFile& file, VectorCheck& held);
void check_blockwise(VectorFile& file, VectorCheck& held);
void check_mxfp8(VectorFile& file, VectorCheck& held);
void check_nvfp4(VectorFile& file, VectorCheck& held);
void check_loss_scale(VectorFile& file, VectorCheck& held);

// The settings in the name of a run of delayed scaling.
struct DelayedSetting {
  quant::DelayedRule rule;
  i64 slots = 1;
};
// "e4m3_max_h4_margin1". Empty if the name has another form.
std::optional<DelayedSetting> delayed_setting(std::string_view key);
// The maximum over all ranks: amax [updates, ranks, tensors] -> [updates, tensors].
std::vector<float> reduced_amax(VectorFile& file, i64& updates);

}  // namespace megalith::fp8
