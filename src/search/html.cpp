#include "search/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "exec/sim/facts_clock.h"
#include "search/svg.h"

namespace megalith::search {

namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>megalith plan</title><style>
body{font:14px sans-serif;margin:2em;max-width:1200px}table{border-collapse:collapse;margin:1em 0}
td,th{padding:3px 9px;border-bottom:1px solid #ccc;text-align:right}th{cursor:pointer;background:#eee}
pre{background:#f4f4f4;padding:8px;overflow:auto}svg{background:#fafafa;border:1px solid #ddd}
</style></head><body>
)";

// Sorts a table by the column whose header is clicked.
constexpr const char* kTail = R"(<script>
for(const head of document.querySelectorAll("table.sorted th"))head.onclick=()=>{
const body=head.closest("table").tBodies[0],at=[...head.parentNode.children].indexOf(head);
const key=row=>row.children[at].dataset.key??row.children[at].textContent,up=head.dataset.up=head.dataset.up=="1"?"0":"1";
[...body.rows].sort((a,b)=>{const x=key(a),y=key(b),n=parseFloat(x)-parseFloat(y);
return(isNaN(n)?x.localeCompare(y):n)*(up=="1"?1:-1)}).forEach(row=>body.append(row))}
</script></body></html>
)";

std::string heading(const char* text) { return fmt::format("<h2>{}</h2>\n", text); }

using Cells = std::vector<std::string>;

std::string table(const Cells& head, const std::vector<Cells>& rows) {
  std::string out = "<table class=\"sorted\"><thead><tr>";
  for (const std::string& cell : head) out += "<th>" + html_text(cell) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const Cells& row : rows) {
    out += "<tr>";
    for (const std::string& cell : row) out += "<td>" + html_text(cell) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string layouts_table(const Page& page) {
  std::vector<Cells> rows;
  for (const Row& r : page.rows)
    rows.push_back({std::to_string(rows.size() + 1), to_string(r.choice), std::to_string(r.dp),
                    fmt::format("{:.2f}", double(r.bytes) / (1 << 30)), std::to_string(r.stage),
                    fmt::format("{:.4g}", r.step_seconds), fmt::format("{:.0f}", r.gpu_tokens()),
                    fmt::format("{:.0f}", r.tflops), fmt::format("{:.1f}", 100 * r.mfu),
                    fmt::format("{:.1f}", 100 * r.bubble), fmt::format("{:.1f}", 100 * r.exposed),
                    fmt::format("{:.4g}", r.cost.days), fmt::format("{:.0f}", r.cost.usd)});
  return table({"#", "layout", "dp", "GiB", "stage", "s/step", "tokens/s/GPU", "TFLOP/s", "MFU %", "idle %",
                "exposed %", "days", "USD"},
               rows);
}

// The columns of a sizing table.
std::string cost_table(const Page& page) {
  std::vector<Cells> rows;
  for (const Row& r : page.rows) {
    const double usd = page.asked.prices.gpu_hour * 1e12 / r.tokens_per_second / 3600 * double(r.gpus);
    rows.push_back({to_string(r.choice), fmt::format("{} x {}", r.gpus, page.facts.name),
                    fmt::format("{:.0f}", r.gpu_tokens()), fmt::format("{:.2f}", page.asked.prices.gpu_hour),
                    fmt::format("{:.0f}", usd), fmt::format("{:.4g}", 1e12 / r.tokens_per_second / 86400),
                    fmt::format("{:.1f}", 100 * r.mfu)});
  }
  return table({"Layout", "Cluster", "Per-GPU tok/s", "$/GPU-hour", "USD per 1T tokens", "Days", "% of peak"}, rows);
}

std::string points_of_rows(const Page& page) {
  std::vector<Point> points;
  for (const Row& r : page.rows) points.push_back({double(r.bytes) / (1 << 30), r.step_seconds, to_string(r.choice)});
  return scatter(points, "GiB of the fullest rank", "seconds a step");
}

std::string times_of_rows(const Page& page) {
  std::vector<Bar> bars;
  for (const Found& f : page.found.best) bars.push_back({to_string(f.choice), f.price.time.by_op});
  return stacked(bars);
}

std::string of_first(const Page& page) {
  if (!page.first) return {};
  StagePlans& plans = *page.first->plans;
  const sim::FactsClock clock(page.facts);
  std::string out = heading("Pipeline of #1") + tasks_in_time(pipeline_run(plans, clock));
  if (plans.stages() == 1) out = {};
  std::vector<Cells> stages;
  for (int stage = 0; stage < plans.stages(); ++stage) {
    const Plan& plan = plans.at(stage).plan;
    stages.push_back({std::to_string(stage), plans.describe(stage), std::to_string(plans.in_flight(stage)),
                      fmt::format("{:.2f}", double(plan.arena_bytes) / (1 << 30)),
                      fmt::format("{:.2f}", double(plan.bytes(Role::kept)) / (1 << 30))});
  }
  return out + heading("Memory of #1 by stage") +
         table({"stage", "layers", "micro-batches in flight", "arena GiB", "kept GiB"}, stages);
}

}  // namespace

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    if (c == '>') out += "&gt;";
    if (c == '&') out += "&amp;";
    if (c == '"') out += "&quot;";
    if (c != '<' && c != '>' && c != '&' && c != '"') out += c;
  }
  return out;
}

std::string page_html(const Page& page) {
  std::string out = kHead + heading("Layouts");
  out += "<pre>" + html_text(head_text(page.base, page.facts, page.asked, page.found)) + "</pre>\n";
  if (!page.rows.empty()) {
    out += layouts_table(page) + heading("Memory and time") + points_of_rows(page);
    out += heading("Where the time goes") + times_of_rows(page) + of_first(page);
    out += heading("Cost of a million million tokens, without failures") + cost_table(page);
  }
  if (!page.commands.empty()) out += heading("Command of #1") + "<pre>" + html_text(page.commands[0]) + "</pre>\n";
  out += heading("Refused") + "<pre>" + html_text(refused_text(page.base, page.found, page.facts, page.asked)) +
         "</pre>\n";
  return out + kTail;
}

}  // namespace megalith::search
