// Reshape cannot be written only with letters: an axis list is cut between the factors of a dim, or joined from them.
#include <fmt/format.h>

#include <map>

#include "mesh/rule.h"

namespace megalith {

// "sb(gd)" as {"s", "b", "gd"}.
static std::vector<std::string> factors(const std::string& side) {
  std::vector<std::string> out;
  bool open = false;
  for (char c : side) {
    if (c == '(')
      out.emplace_back(), open = true;
    else if (c == ')')
      open = false;
    else if (open)
      out.back() += c;
    else
      out.emplace_back(1, c);
  }
  return out;
}

Result infer_reshape(const Mesh& mesh, const std::string& spec, const std::vector<std::pair<char, i64>>& sizes,
                     const Operand& in) {
  const auto sides = split_spec(spec);
  const auto src = factors(sides.first.at(0)), dst = factors(sides.second.at(0));
  check(src.size() == in.shape.size(), "{}: got shape {}", spec, to_string(in.shape));
  std::map<char, i64> size(sizes.begin(), sizes.end());
  std::map<char, AxisList> by;
  for (size_t d = 0; d < src.size(); ++d) {
    const std::string& letters = src[d];
    if (letters.size() == 1) {
      size[letters[0]] = in.shape[d], by[letters[0]] = in.layout.dims[d];
      continue;
    }
    i64 product = 1;
    for (char c : letters) check(size.count(c), "{}: the size of {} is not given", spec, c), product *= size[c];
    check(product == in.shape[d], "{}: {} is {}, not {}", spec, letters, in.shape[d], product);
    size_t at = 0;  // axes go to the outer factor until it is used up, then to the next
    i64 left = size[letters[0]];
    int axis = -1;  // the dense one
    for (const AxisUse& use : in.layout.dims[d]) {
      const i64 n = mesh.n(use.axis);
      const bool goes_on = axis == dense_axis(use.axis), stays = goes_on && n == 1;  // next to other parts of its axis
      const size_t before = at;
      while (left == 1 && !stays && at + 1 < letters.size()) left = size[letters[++at]];
      const bool apart = goes_on && at != before && (use.order == Order::zigzag || use.rotated != 0);
      if (left % n != 0 || apart)
        fail("{}: {} of size {} cuts across {} of {}", spec, to_string(use.axis, mesh.used()), n, letters[at],
             size[letters[at]]);
      by[letters[at]].push_back(use);
      left /= n, axis = dense_axis(use.axis);
    }
  }
  auto ways = [&](char c) {
    int n = 1;
    for (const AxisUse& use : by[c]) n *= mesh.n(use.axis);
    return n;
  };
  Result out{{}, in.layout};
  out.layout.dims.clear();
  for (const std::string& letters : dst) {
    i64 n = 1;
    AxisList axes;
    bool used_up = true;  // all outer factors have local size 1
    for (char c : letters) {
      check(size.count(c), "{}: the size of {} is not given", spec, c);
      check(ways(c) == 1 || used_up, "{}: {} is split below a dim that is not used up", spec, c);
      used_up &= size[c] == ways(c);
      n *= size[c];
      axes.insert(axes.end(), by[c].begin(), by[c].end());
    }
    out.shape.push_back(n);
    out.layout.dims.push_back(std::move(axes));
  }
  return out;
}

}  // namespace megalith
