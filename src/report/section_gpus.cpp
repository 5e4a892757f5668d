// GPUs during slow iterations, and over the run.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/sections.h"

namespace megalith::report {

namespace {

std::string known_text(double x, const char* form, double scale = 1) {
  return std::isfinite(x) ? fmt::format(fmt::runtime(form), x * scale) : "-";
}

std::string xid_text(const std::vector<i64>& xids, const std::vector<i64>& fresh) {
  std::string out;
  for (const i64 xid : xids) {
    const bool is_new = std::find(fresh.begin(), fresh.end(), xid) != fresh.end();
    out += fmt::format("{}{}", out.empty() ? "" : ", ",
                       is_new ? fmt::format("<b class=\"bad\">{}</b>", xid) : fmt::format("{} (earlier)", xid));
  }
  return out;
}

std::string place_text(const std::string& host, i64 gpu) {
  const std::string number = gpu >= 0 ? fmt::format("GPU {}", gpu) : "GPU";
  return escaped(host.empty() ? number : host + ", " + number);
}

// The text may wrap to several lines.
std::string reasons(u64 bits) { return "<span>" + escaped(throttle_text(bits)) + "</span>"; }

// The columns that the files have, with the text of each.
struct GpuColumn {
  GpuSignal needs;
  const char* title;
  std::string text;
};

std::vector<GpuColumn> columns_of(const GpuTimes& t, const GpuTimes& usual, const std::string& xids) {
  const std::string clock = known_text(t.clock, "{:.0f}");
  const bool is_low = std::isfinite(t.clock) && t.clock < 0.95 * usual.clock;
  const std::string clock_text = is_low ? "<b class=\"bad\">" + clock + "</b>" : clock;
  return {{GpuSignal::sm_clock, "SM clock, MHz (usual)", clock_text + " (" + known_text(usual.clock, "{:.0f}") + ")"},
          {GpuSignal::temperature, "Hottest, °C", known_text(t.hottest, "{:.0f}")},
          {GpuSignal::power, "W", known_text(t.power, "{:.0f}")},
          {GpuSignal::throttle, "Throttled by", reasons(t.throttle)},
          {GpuSignal::tensor, "Tensor cores active (usual)",
           known_text(t.tensor, "{:.1f}%", 100) + " (" + known_text(usual.tensor, "{:.1f}%", 100) + ")"},
          {GpuSignal::nvlink_sent, "NVLink, GB/s (usual)",
           known_text(t.nvlink, "{:.1f}", 1e-9) + " (" + known_text(usual.nvlink, "{:.1f}", 1e-9) + ")"},
          {GpuSignal::xid, "XID", xids}};
}

std::string slow_table(const GpuJoin& join) {
  constexpr std::size_t kMost = 200;
  HtmlTable table{.head = {"Iteration", "ms (neighbours)", "Slowest rank", "Where"}, .kind = "gpus"};
  for (const GpuColumn& c : columns_of({}, {}, ""))
    if (join.has(c.needs)) table.head.push_back(c.title);
  for (const SlowGpu& s : join.slow) {
    if (table.rows.size() == kMost) break;
    const JoinedGpu* gpu = s.joined < 0 ? nullptr : &join.gpus[std::size_t(s.joined)];
    const std::string rank = s.rank < 0 ? "-" : fmt::format("{}{}", s.rank, s.by_own_work ? "" : ", by its clock");
    std::vector<std::string> row = {whole_number(double(s.slow.iteration)),
                                    fmt::format("{:.1f} ({:.1f})", s.slow.ms, s.slow.neighbours), rank,
                                    gpu ? place_text(gpu->host, gpu->gpu) : "no samples of its GPU"};
    const GpuTimes usual = gpu ? times_of(*gpu->samples, join.begin, join.end) : GpuTimes();
    const bool none = gpu && s.around.samples == 0;
    if (none) row.back() += ": no sample at that time";
    for (const GpuColumn& c : columns_of(s.around, usual, xid_text(s.around.xids, s.new_xids)))
      if (join.has(c.needs)) row.push_back(!gpu || none ? "-" : c.text);
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return "<p class=\"good\">No line is more than 10% slower than those around it.</p>\n";
  const std::size_t all = join.slow.size();
  return html_of(table) +
         (all > kMost ? fmt::format("<p class=\"quiet\">and {} more</p>\n", all - kMost) : std::string());
}

std::string run_table(const GpuJoin& join) {
  constexpr std::size_t kMost = 64;
  HtmlTable table{.head = {"Rank", "Where", "Samples", "SM clock, MHz: usual", "least", "Hottest, °C", "Throttled",
                           "by", "Tensor cores active", "NVLink, GB/s", "XID"},
                  .kind = "gpus"};
  for (const JoinedGpu& g : join.gpus) {
    if (table.rows.size() == kMost) break;
    const GpuTimes t = times_of(*g.samples, join.begin, join.end);
    table.rows.push_back(
        {g.rank < 0 ? "-" : fmt::format("{}", g.rank), place_text(g.host, g.gpu), whole_number(double(t.samples)),
         known_text(t.clock, "{:.0f}"), known_text(t.least_clock, "{:.0f}"), known_text(t.hottest, "{:.0f}"),
         known_text(t.throttled, "{:.1f}%", 100), reasons(t.throttle), known_text(t.tensor, "{:.1f}%", 100),
         known_text(t.nvlink, "{:.1f}", 1e-9), xid_text(t.xids, t.xids)});
  }
  if (table.rows.empty()) return {};
  const std::size_t all = join.gpus.size();
  return "<p>Over the run:</p>\n" + html_of(table) +
         (all > kMost ? fmt::format("<p class=\"quiet\">and {} more</p>\n", all - kMost) : std::string());
}

}  // namespace

std::string gpus_of(const GpuJoin& join) {
  std::string out;
  for (const std::string& note : join.notes) out += "<p class=\"quiet\">" + escaped(note) + "</p>\n";
  if (join.gpus.empty()) return out + "<p>No sample is of a GPU of this run.</p>\n";
  return "<p>Samples of the slowest rank's GPU while a line more than 10% slower than those around it was made. It is "
         "the slowest by its own work, with --log-straggler, or else by its clock.</p>\n" +
         out + slow_table(join) + run_table(join);
}

}  // namespace megalith::report
