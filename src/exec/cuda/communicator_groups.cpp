#include "exec/cuda/communicator_groups.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "ops/overlapped_product.h"

namespace megalith::cuda {

int CommunicatorGroup::find(int rank) const {
  const auto it = std::find(ranks.begin(), ranks.end(), rank);
  return it == ranks.end() ? -1 : int(it - ranks.begin());
}

std::string CommunicatorGroup::text() const {
  return fmt::format("ranks {}", fmt::join(ranks, kind == link ? " to " : " "));
}

std::optional<CommunicatorGroup> communicator_group_of(const Relayout& op, const Mesh& mesh, const Coord& coord) {
  if (is_local(op.transfer)) return std::nullopt;
  std::vector<int> group = op.group(mesh, coord);
  if (group.size() == 1) return std::nullopt;
  const bool pairs = op.transfer == Transfer::all_to_all || op.transfer == Transfer::rotate;
  const bool stages = mesh.n(op.axes & groups::pipeline) > 1;
  const auto kind = pairs    ? CommunicatorGroup::pairwise
                    : stages ? CommunicatorGroup::between_stages
                             : CommunicatorGroup::collective;
  return CommunicatorGroup{kind, op.lane, std::move(group)};
}

std::vector<CommunicatorGroup> communicator_groups_of(const Plan& plan, const Coord& coord) {
  std::set<CommunicatorGroup> out;
  for (const Program& p : plan.programs)
    for (const Instruction& in : p.instructions)
      if (const auto* op = relayout_of(in.op))
        if (auto c = communicator_group_of(*op, plan.mesh, coord)) out.insert(std::move(*c));
  return {out.begin(), out.end()};
}

std::string describe(const Relayout& op, const Mesh& mesh, const CommunicatorGroup& group, const std::string& tag) {
  return fmt::format("{} over {}, {}{}{}", name_of(op.transfer), to_string(op.axes, mesh.used()), tag,
                     tag.empty() ? "" : ", ", group.text());
}

namespace {

std::string text_of(const std::vector<CommunicatorGroup>& groups) {
  std::string out;
  for (const CommunicatorGroup& c : groups)
    out += fmt::format("{} {} {}\n", int(c.kind), c.lane, fmt::join(c.ranks, " "));
  return out;
}

std::set<CommunicatorGroup> groups_in(const std::string& text) {
  std::set<CommunicatorGroup> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int kind = 0;
    CommunicatorGroup c;
    words >> kind >> c.lane;
    c.kind = CommunicatorGroup::Kind(kind);
    for (int rank = 0; words >> rank;) c.ranks.push_back(rank);
    out.insert(std::move(c));
  }
  return out;
}

}  // namespace

std::vector<CommunicatorGroup> agree(Ranks& ranks, const std::vector<CommunicatorGroup>& mine) {
  std::vector<std::set<CommunicatorGroup>> asked;
  std::set<CommunicatorGroup> all;
  for (const std::string& text : ranks.all_gather(text_of(mine))) {
    asked.push_back(groups_in(text));
    all.insert(asked.back().begin(), asked.back().end());
  }
  for (const CommunicatorGroup& c : all)
    for (int r = 0; r < ranks.size(); ++r)
      check((c.find(r) >= 0) == asked[size_t(r)].contains(c),
            "the ranks' plans differ: rank {} {} in transfers between {} that others plan", r,
            c.find(r) >= 0 ? "takes no part" : "takes part", c.text());
  for (const CommunicatorGroup& c : all)
    check(*std::max_element(c.ranks.begin(), c.ranks.end()) < ranks.size(),
          "the plan has transfers between {}, the run has {} ranks", c.text(), ranks.size());
  return {all.begin(), all.end()};
}

}  // namespace megalith::cuda
