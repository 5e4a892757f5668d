// The report's section on how the run spent its time.
#include <fmt/core.h>

#include <array>

#include "report/sections.h"

namespace megalith::report {

namespace {

// By index of the state: training is dark, other time is light or red.
constexpr std::array<const char*, kNumTimeStates> kColours = {"#9db7d5", "#c3d4e8", "#0b5fc0", "#f0b429", "#5aa469",
                                                              "#8d6cab", "#b3001b", "#e0796b", "#d9dde3"};
constexpr std::array<const char*, kNumTimeStates> kMeanings = {
    "from a process's start to its first step",
    "reading a checkpoint, or drawing weights",
    "steps that count",
    "of such steps: waiting for samples",
    "losses on other sets",
    "training waited for a checkpoint",
    "work after the checkpoint from which a later start resumed",
    "between a start that was killed or failed, and the next",
    "between a start that exited normally, and the next"};

}  // namespace

std::string times_of(const RunFiles& run) {
  const LedgerTotal& t = run.time;
  const double wall = t.wall();
  if (wall <= 0) return {};
  std::string bar = "<div class=\"bar\">";
  HtmlTable table{.head = {"State", "Seconds", "Time", "Share", "What it is"}, .kind = "names"};
  for (std::size_t s = 0; s < t.seconds.size(); ++s) {
    const double share = 100 * t.seconds[s] / wall;
    if (t.seconds[s] > 0)
      bar += fmt::format("<div style=\"width:{:.3f}%;background:{}\" title=\"{} {:.1f}%\"></div>", share, kColours[s],
                         kTimeStates[s], share);
    table.rows.push_back(
        {fmt::format("<i class=\"swatch\" style=\"background:{}\"></i>{}", kColours[s], kTimeStates[s]),
         fmt::format("{:.3f}", t.seconds[s]), time_span(t.seconds[s]), fmt::format("{:.2f}%", share), kMeanings[s]});
  }
  table.rows.push_back({"<b>wall time</b>", fmt::format("<b>{:.3f}</b>", wall), "<b>" + time_span(wall) + "</b>",
                        "<b>100%</b>", fmt::format("{} start{}", t.starts, t.starts == 1 ? "" : "s")});
  return bar + "</div>\n" + html_of(table);
}

}  // namespace megalith::report
