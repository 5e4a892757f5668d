#include "mesh/axis.h"

#include <fmt/format.h>

namespace megalith {

std::string_view name_of(Axis a) {
  constexpr std::string_view names[] = {"pp",         "dp_edp",    "dp_ep",     "dp_etp",   "cp_edp",
                                        "cp_ep",      "cp_etp",    "tp_kv_edp", "tp_kv_ep", "tp_kv_etp",
                                        "tp_rep_edp", "tp_rep_ep", "tp_rep_etp"};
  return names[int(a)];
}

std::string to_string(AxisSet axes, AxisSet used) {
  constexpr std::string_view dense[] = {"pp", "dp", "cp", "tp_kv", "tp_rep"};
  std::string out;
  const auto add = [&](std::string_view name) { out += fmt::format("{}{}", out.empty() ? "" : " ", name); };
  for (int d = 0; d < int(std::size(dense)); ++d) {
    const AxisSet atoms = atoms_of(d), counted = used.meets(atoms) ? used & atoms : atoms;
    if (axes.has(counted))
      add(dense[d]);
    else if (used.meets(atoms))
      for (Axis a : axes& counted) add(name_of(a));
  }
  return out;
}

}  // namespace megalith
