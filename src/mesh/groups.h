// The named groups of a mesh's axes, which models, optimizers, passes and settings use, in both views of the ranks.
#pragma once
#include "mesh/axis.h"

namespace megalith::groups {

inline constexpr AxisSet pipeline = Axis::pp;

// The dense view.
inline constexpr AxisSet data = {Axis::dp_edp, Axis::dp_ep, Axis::dp_etp};
inline constexpr AxisSet context = {Axis::cp_edp, Axis::cp_ep, Axis::cp_etp};
inline constexpr AxisSet kv_heads = {Axis::tp_kv_edp, Axis::tp_kv_ep,
                                     Axis::tp_kv_etp};  // tp_kv: splits the groups of KV heads
inline constexpr AxisSet query_heads = {Axis::tp_rep_edp, Axis::tp_rep_ep,
                                        Axis::tp_rep_etp};  // tp_rep: a group's query heads
inline constexpr AxisSet tensor = {kv_heads, query_heads};  // tp
inline constexpr AxisSet data_context = {data, context};    // ranks with different tokens: losses are summed over them

// The expert view.
inline constexpr AxisSet expert_data = {Axis::dp_edp, Axis::cp_edp, Axis::tp_kv_edp, Axis::tp_rep_edp};
inline constexpr AxisSet expert = {Axis::dp_ep, Axis::cp_ep, Axis::tp_kv_ep, Axis::tp_rep_ep};
inline constexpr AxisSet expert_tensor = {Axis::dp_etp, Axis::cp_etp, Axis::tp_kv_etp, Axis::tp_rep_etp};

inline constexpr AxisSet stage = {data, context, tensor};  // all ranks of a pipeline stage
static_assert(stage == AxisSet{expert_data, expert, expert_tensor} && AxisSet{stage, pipeline} == kAllAxes);

}  // namespace megalith::groups
