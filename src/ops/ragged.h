// Rows of experts. A token's row is on the rank of its expert. So the number of rows on a rank depends on the data. A
// ragged value [n,...] has the maximum possible size: n = S B min(k, E / ep) ep. A rank holds room for W = min(k, E /
// ep) x (tokens of its ep x etp group) rows. The first `ends[last]` rows exist, sorted by expert; the others are never
// read or written.
//
// Dim n is split, in Order::ragged, over ep and over the axes of edp that split the tokens. The layout rule
// (mesh/rule.h) sees two letters: "n", rows of the tokens of a group, and "e", rows of an expert. So a product
// "nh,efh->nf" has the rule "enh,efh,ne->enf". The functions here convert types to such letters and back.
// docs/layouts.md, section 9.
#pragma once
#include "graph/op.h"

namespace megalith {

// The plan of a dispatch, made by ExpertRows (ops/expert_rows.h).
struct ExpertPlan {
  Value ends;         // [d,e] i32
  Value source;       // [n] i32
  Value slots;        // [x,s,b,k] i32
  double filled = 1;  // average filled fraction of n, for the cost
};

// The type with letters: n and e have their sizes there.
Type rows_as_letters(const Type& rows, i64 e);           // [n,...] -> "en..."
Type tokens_as_letters(const Type& x, i64 n);            // [s,b,...] -> "n..."
Type ends_as_letters(const Type& ends, i64 n);           // [d,e] -> "ne"
Type slots_as_letters(const Type& slots, i64 e, i64 n);  // [x,s,b,k] -> "enk"
// The inverse.
Type rows_of_letters(Type t);                              // "en..." -> [n,...]
Type tokens_of_letters(const Type& t, const Type& slots);  // "n..." -> [s,b,...], in the layout of the slots' tokens

// The ragged split of n over the axes of edp that split the tokens of x [s,b,...], in their order.
AxisList ragged_tokens(const Layout& x);

// Infers types by the layout rule. All types have letters.
std::vector<Type> infer_letters(const LayoutRule& rule, const InferArgs& a, std::vector<Type> ins,
                                const std::vector<DType>& dtypes);

}  // namespace megalith
