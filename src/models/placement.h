// A parameter's layout over the tensor-parallel ranks, declared with the parameter. docs/layouts.md, section 4.
#pragma once
#include "models/parallel_style.h"

namespace megalith {

// Over data- and context-parallel ranks every parameter is a copy, but for those of experts.
struct Placement {
  int split = -1;        // the dim that all tensor-parallel ranks share
  int groups = -1;       // or the dim of KV groups, over tp_kv,
  int heads = -1;        // and that of a group's query heads, over tp_rep; -1: ranks of a group have copies
  int experts = -1;      // or the dim of experts, over ep,
  int expert_part = -1;  // and that of an expert's own matrix, over etp; -1: ranks of etp have copies. Over edp: copies
  bool own_part = false;  // unsplit: each rank applies it to its own part of the data,
  bool alike = false;     // or to whole data, as all ranks do
};

// Whole on each rank, and applied to the residual stream: a copy where sequence parallelism splits that.
inline constexpr Placement kOnStream{};
inline constexpr Placement kOnOwnPart{.own_part = true};
inline constexpr Placement kOnWhole{.alike = true};
constexpr Placement split_along(int dim) { return {.split = dim}; }
constexpr Placement by_group(int dim, int heads = -1) { return {.groups = dim, .heads = heads}; }
constexpr Placement by_expert(int dim, int part = -1) { return {.experts = dim, .expert_part = part}; }

Layout layout_of(const Placement& placement, int ndim, const ParallelStyle& style);

}  // namespace megalith
