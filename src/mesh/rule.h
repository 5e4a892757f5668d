// The layout rule of an op is one line of data; infer_layouts() is the one function that reads it. The rule says which
// dims of the results correspond to which dims of the inputs. It says where the op is linear, and which dims must not
// be split. docs/layouts.md, section 2.
#pragma once
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "mesh/layout.h"

namespace megalith {

enum class Reduction : u8 { partial, max };  // of a split letter that is summed: over the ranks a sum or a maximum

struct LayoutRule {
  std::string spec;  // "sbk,nk->sbn": one letter a dim; a letter missing on the right is summed over
  std::vector<std::vector<int>> linear =
      {};                             // sets of inputs in which the op is jointly linear while the others are held
  std::string whole = {};             // letters that may not be split
  std::vector<int> layout_only = {};  // inputs that only say how a result is split; their data is not read
  Reduction reduction = Reduction::partial;
  std::vector<std::pair<char, i64>> sizes = {};  // of letters that only results have
};

// The rule's information about an input.
struct Operand {
  const Shape& shape;
  const Layout& layout;
  bool wants_grad;  // constants (ids, masks, statistics) may be Same or Copy anywhere
};
struct Result {
  Shape shape;
  Layout layout;
};

// The results' shapes and layouts, or an Error that names the spec, the axis and the states.
std::vector<Result> infer_layouts(const LayoutRule& rule, const std::vector<Operand>& ins);

// Merges or splits neighbouring dims, "sb(gd)->sbgd". `sizes`: the letters' sizes. A rank's part must remain one
// block.
Result infer_reshape(const Mesh& mesh, const std::string& spec, const std::vector<std::pair<char, i64>>& sizes,
                     const Operand& in);

// "ab,c->d" as {"ab", "c"} and {"d"}.
std::pair<std::vector<std::string>, std::vector<std::string>> split_spec(const std::string& spec);

}  // namespace megalith
