#include "cli/plan_kinds.h"

#include <algorithm>

#include "base/log.h"
#include "cli/plan_search.h"
#include "facts/facts_file.h"
#include "search/command.h"

namespace megalith {

namespace {

struct Kind {
  std::string name;
  std::vector<search::Row> rows{};      // the best layout of each number of GPUs that holds the model
  std::vector<std::string> commands{};  // commands of the rows
  std::string json{};
};

// The flags of a plan for only this kind.
PlanFlags flags_of(const PlanFlags& flags, size_t kind, const DeviceFacts& facts) {
  PlanFlags out = flags;
  out.hardware = out.options.train.device.device = kinds_of(flags)[kind];
  out.prices.gpu_hour = price_of(flags, kind);
  if (out.prices.watts == 0) out.prices.watts = facts.watts;
  return out;
}

Kind best_of(const PlanFlags& all, size_t number, const std::vector<i64>& counts) {
  const DeviceFacts facts = find_facts(kinds_of(all)[number]);
  const PlanFlags flags = flags_of(all, number, facts);
  search::Searcher searcher(flags.options, facts);
  const Options& base = searcher.base();
  Kind kind{facts.name};
  search::Outcome last;
  MistakenCounts mistaken;
  for (const i64 gpus : counts) {
    search::Asked asked = asked_of(flags, gpus);
    asked.max_days = asked.max_cost = 0;  // the table shows all kinds
    last = search_layouts(searcher, flags, asked, 1);
    mistaken.add(last);
    log::say("{}", search::head_text(base, facts, asked, last));
    if (last.best.empty()) {
      log::say("no layout fits {} x {}", gpus, facts.name);
      continue;
    }
    kind.rows.push_back(search::row_of(base, last.best[0], facts, asked));
    kind.commands.push_back(search::command_of(base, kind.rows.back().choice, asked));
  }
  mistaken.done();
  kind.json = search::rows_json(base, facts, asked_of(flags, counts.back()), kind.rows, last, kind.commands);
  return kind;
}

// The rows of all kinds, by the number of GPUs.
std::vector<search::Row> rows_of(const std::vector<Kind>& kinds) {
  std::vector<search::Row> out;
  for (const Kind& kind : kinds) out.insert(out.end(), kind.rows.begin(), kind.rows.end());
  std::ranges::stable_sort(out, {}, &search::Row::gpus);
  return out;
}

// The smallest number of GPUs of the kind that stays within the limits, and its command. False: there is none.
bool say_smallest(const Kind& kind, const search::Asked& asked) {
  for (size_t i = 0; i < kind.rows.size(); ++i) {
    const search::Row& row = kind.rows[i];
    if (!search::is_allowed(row.cost, asked)) continue;
    log::say("{} x {}, {:.4g} days:  {}", row.gpus, kind.name, row.cost.days, kind.commands[i]);
    return true;
  }
  log::say("{}: none of these numbers of GPUs {}", kind.name,
           kind.rows.empty() ? "holds the model" : "ends within the days and the money");
  return false;
}

}  // namespace

int plan_kinds(const PlanFlags& flags) {
  const std::vector<i64> counts = gpu_counts(flags);
  std::vector<Kind> kinds;
  for (size_t i = 0; i < kinds_of(flags).size(); ++i) kinds.push_back(best_of(flags, i, counts));
  const std::vector<search::Row> rows = rows_of(kinds);
  const search::Asked asked = asked_of(flags, counts.back());
  if (!rows.empty()) log::say("{}", search::kinds_text(rows, asked));
  bool any = false;
  std::string json{};
  for (const Kind& kind : kinds) {
    any = say_smallest(kind, asked) || any;
    json += (json.empty() ? "[" : ",") + kind.json;
  }
  write_report("--json", flags.json, json + "]\n");
  write_report("--csv", flags.csv, search::rows_csv(rows));
  return any ? 0 : kNothingFits;
}

}  // namespace megalith
