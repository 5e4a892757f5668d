#include "observe/rank_losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/number_text.h"

namespace megalith {

std::vector<DataRankLoss> gather_losses(const Mesh& mesh, const Coord& coord, Ranks& ranks,
                                        const std::vector<LossShare>& mine) {
  std::string text;  // ranks that share a layer's weights have the same numbers
  if (mesh.place(coord, groups::tensor) == 0)
    for (const LossShare& share : mine) text += fmt::format("{} {} ", share.sum, share.tokens);
  const std::vector<std::string> all = ranks.all_gather(text);
  std::map<std::pair<i64, i64>, LossShare> sums;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const i64 data = all.size() > 1 ? mesh.place(mesh.coord(int(rank)), groups::data) : 0;
    std::istringstream in(all[rank]);
    std::string sum, tokens;
    for (i64 m = 0; in >> sum >> tokens; ++m) {
      LossShare& to = sums[{data, m}];
      to.sum += std::strtod(sum.c_str(), nullptr), to.tokens += std::strtod(tokens.c_str(), nullptr);
    }
  }
  std::vector<DataRankLoss> out;
  for (const auto& [where, share] : sums) out.push_back({where.first, where.second, share.sum, share.tokens});
  return out;
}

void RankLosses::add(const std::vector<LossShare>& micro_batches) {
  for (const LossShare& m : micro_batches) share_.sum += m.sum, share_.tokens += m.tokens;
}

RankLosses::Told RankLosses::report() {
  std::vector<double> losses;
  for (const DataRankLoss& l : gather_losses(mesh_, coord_, ranks_, {share_})) losses.push_back(l.mean());
  share_ = {};
  return told(losses, history_);
}

RankLosses::Told RankLosses::told(const std::vector<double>& losses, std::vector<std::vector<double>>& history) {
  constexpr size_t kLeast = 8;  // number of earlier lines before a rank can be reported
  constexpr double kFar = 6;    // deviations
  Told out{"rank losses:", ""};
  history.resize(losses.size());
  std::vector<double> sorted = losses;
  std::ranges::sort(sorted);
  const size_t n = sorted.size();  // the median, because one bad rank does not change it
  const double middle = n == 0 ? 0 : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  for (size_t r = 0; r < losses.size(); ++r) {
    out.line += fmt::format("{} data-parallel rank {} {}", r > 0 ? " |" : "", r, number_text(losses[r]));
    std::vector<double>& before = history[r];
    const double away = losses[r] - middle;
    double usual = 0, square = 0;
    for (const double x : before) usual += x / double(before.size());
    for (const double x : before) square += (x - usual) * (x - usual) / double(before.size());
    const double deviation = std::max(std::sqrt(square), 1e-6 * std::abs(middle));
    const bool is_known = before.size() >= kLeast;
    if (is_known) out.deviations.push_back({i64(r), away == usual ? 0 : (away - usual) / deviation});
    if (is_known && !(std::abs(away - usual) <= kFar * deviation))
      out.warning += fmt::format("{}data-parallel rank {}: its loss {} leaves the ranks' median {}",
                                 out.warning.empty() ? "" : "; ", r, number_text(losses[r]), number_text(middle));
    if (std::isfinite(away)) before.push_back(away);
  }
  return out;
}

}  // namespace megalith
