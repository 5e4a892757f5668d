// A parameter's layout over the tensor-parallel ranks, declared with the parameter. docs/layouts.md, section 4.
#pragma once
#include "models/parallel_style.h"

namespace megalith {

// Over data- and context-parallel ranks every parameter is Copy, except those of experts.
struct Placement {
  int split = -1;         // dim that all tensor-parallel ranks split
  int groups = -1;        // or the dim of KV groups, split over tp_kv,
  int heads = -1;         // and the dim of a group's query heads, split over tp_rep; -1: Copy over tp_rep
  int experts = -1;       // or the dim of experts, split over ep,
  int expert_part = -1;   // and a dim of an expert's own matrix, split over etp; -1: Copy over etp. Over edp: Copy
  bool own_part = false;  // unsplit: each rank applies it to its own part of the data,
  bool alike = false;     // or all ranks apply it to the same data
};

// Whole on each rank, and applied to the residual stream: Copy if sequence parallelism splits the stream.
inline constexpr Placement kOnStream{};
inline constexpr Placement kOnOwnPart{.own_part = true};
inline constexpr Placement kOnWhole{.alike = true};
constexpr Placement split_along(int dim) { return {.split = dim}; }
constexpr Placement by_group(int dim, int heads = -1) { return {.groups = dim, .heads = heads}; }
constexpr Placement by_expert(int dim, int part = -1) { return {.experts = dim, .expert_part = part}; }

Layout layout_of(const Placement& placement, int ndim, const ParallelStyle& style);

}  // namespace megalith
