// megalith plan: the fastest layout of a model that fits on this many GPUs, and the cost of a run.
#include <algorithm>

#include "base/log.h"
#include "base/mistakes.h"
#include "cli/command.h"
#include "cli/plan_check.h"
#include "cli/plan_kinds.h"
#include "cli/plan_search.h"
#include "facts/facts_file.h"
#include "search/command.h"
#include "search/html.h"

namespace megalith {

namespace {

std::string html_of(search::Searcher& searcher, const search::Asked& asked, const std::vector<search::Row>& rows,
                    const search::Outcome& found, const std::vector<std::string>& commands) {
  std::unique_ptr<search::PricedPlans> first;
  if (!rows.empty()) {
    Options sized = searcher.base();
    sized.parallel.world_size = asked.gpus;
    const search::Choice& c = rows[0].choice;
    first = search::priced_plans(sized, c, searcher.texts().of(c), searcher.facts());
  }
  return search::page_html({searcher.base(), searcher.facts(), asked, rows, found, commands, first.get()});
}

std::string nothing_fits(const search::Outcome& found, const DeviceFacts& facts, const search::Asked& asked) {
  if (found.too_slow || !found.best.empty())
    return fmt::format("no layout that fits {} x {} ends within the days and the money: use other numbers of GPUs",
                       asked.gpus, facts.name);
  if (found.misses.empty())
    return fmt::format("no layout of {} x {} is allowed: change a flag that a reason above names, or --explain",
                       asked.gpus, facts.name);
  return fmt::format("no layout fits {} x {}: use more GPUs, or a smaller model or --seq-length", asked.gpus,
                     facts.name);
}

int plan_for(search::Searcher& searcher, const PlanFlags& flags, i64 gpus) {
  search::Asked asked = asked_of(flags, gpus);
  const search::Outcome found = search_layouts(searcher, flags, asked, flags.explain.empty() ? size_t(flags.top) : 1);
  if (!found.mistakes.empty()) throw Mistakes(found.mistakes);
  const Options& base = searcher.base();
  const DeviceFacts& facts = searcher.facts();
  std::vector<search::Row> rows;
  std::vector<std::string> commands;
  for (const search::Found& f : found.best) {
    const search::Row row = search::row_of(base, f, facts, asked);
    if (!search::is_allowed(row.cost, asked)) continue;
    rows.push_back(row);
  }
  if (asked.sites.any())  // the search compares steps without transfers between sites
    std::ranges::stable_sort(rows, {},
                             [&](const search::Row& r) { return search::objective_value(r, asked.objective); });
  for (const search::Row& row : rows) commands.push_back(search::command_of(base, row.choice, asked));
  log::say("{}", search::head_text(base, facts, asked, found));
  if (!rows.empty()) log::say("{}", search::table_text(rows, facts, asked));
  if (!rows.empty() && asked.sites.any()) log::say("{}", search::sites_text(base, rows[0], asked));
  if (const std::string refused = search::refused_text(base, found, facts, asked); !refused.empty())
    log::say("{}", refused);
  if (!rows.empty()) log::say("{}", search::run_text(base, rows[0], asked));
  write_report("--json", flags.json, search::rows_json(base, facts, asked, rows, found, commands));
  write_report("--csv", flags.csv, search::rows_csv(rows));
  if (!flags.html.empty()) write_report("--html", flags.html, html_of(searcher, asked, rows, found, commands));
  if (!flags.explain.empty() && !rows.empty()) {
    const search::Choice& c = rows[0].choice;
    log::say("\n{}", search::explained(base, c, searcher.texts().of(c), facts, asked));
  }
  if (rows.empty()) log::say("{}", nothing_fits(found, facts, asked));
  return rows.empty() ? kNothingFits : 0;
}

struct Over {  // numbers of GPUs
  std::vector<search::Row> rows;
  std::string refused;  // for the last number without a layout that fits
};

Over best_of_each(search::Searcher& searcher, const PlanFlags& flags, const std::vector<i64>& counts) {
  Over out;
  MistakenCounts mistaken;
  for (const i64 gpus : counts) {
    search::Asked asked = asked_of(flags, gpus);
    asked.max_days = asked.max_cost = 0;  // the table shows all numbers
    const search::Outcome found = search_layouts(searcher, flags, asked, 1);
    mistaken.add(found);
    if (!found.best.empty()) {
      out.rows.push_back(search::row_of(searcher.base(), found.best[0], searcher.facts(), asked));
      continue;
    }
    log::say("{} GPUs: no layout fits", gpus);
    out.refused = search::refused_text(searcher.base(), found, searcher.facts(), asked);
  }
  mistaken.done();
  return out;
}

void say_best(const search::Searcher& searcher, const PlanFlags& flags, const std::vector<search::Row>& fitting) {
  const search::Row& least = fitting.front();
  if (flags.max_days > 0 || flags.max_cost > 0)
    log::say("within {}: {} GPUs are the fewest, {:.4g} days",
             flags.max_days > 0 ? fmt::format("{:g} days", flags.max_days) : fmt::format("{:g} USD", flags.max_cost),
             least.gpus, least.cost.days);
  const auto best_by = [&](search::Objective objective) {
    return *std::ranges::min_element(fitting, {},
                                     [&](const search::Row& r) { return search::objective_value(r, objective); });
  };
  if (flags.prices.gpu_hour > 0) {
    const search::Row cheapest = best_by(search::Objective::cost);
    log::say("the cheapest: {} GPUs, {:.0f} USD", cheapest.gpus, cheapest.cost.usd);
  }
  const bool chosen = flags.options.given.has("objective");
  const search::Row best = chosen ? best_by(flags.objective) : least;
  if (chosen) log::say("the best by --objective: {} GPUs, {:.4g} days", best.gpus, best.cost.days);
  log::say("run on {}:  {}", best.gpus, search::command_of(searcher.base(), best.choice, asked_of(flags, best.gpus)));
}

// The best layout for each number of GPUs, and which of them end within the limits.
int plan_over(search::Searcher& searcher, const PlanFlags& flags, const std::vector<i64>& counts) {
  const Over over = best_of_each(searcher, flags, counts);
  const search::Asked asked = asked_of(flags, counts.back());
  if (!over.rows.empty()) log::say("{}", search::counts_text(over.rows, asked));
  write_report("--csv", flags.csv, search::rows_csv(over.rows));
  write_report("--json", flags.json, search::rows_json(searcher.base(), searcher.facts(), asked, over.rows, {}, {}));
  std::vector<search::Row> fitting;
  std::ranges::copy_if(over.rows, std::back_inserter(fitting),
                       [&](const search::Row& r) { return search::is_allowed(r.cost, asked); });
  if (!fitting.empty()) {
    say_best(searcher, flags, fitting);
    return 0;
  }
  if (!over.refused.empty()) log::say("{}", over.refused);
  log::say("none of these numbers of GPUs {}",
           over.rows.empty() ? "holds the model" : "ends within the days and the money");
  return kNothingFits;
}

}  // namespace

int command_plan(int argc, const char* const* argv) {
  if (asks_for_check(argc, argv)) return command_plan_check(argc, argv);
  PlanFlags flags;
  if (!read_plan_flags(flags, argc, argv)) return 0;
  for (const std::string& note : flags.options.notes) log::info("{}", note);
  if (kinds_of(flags).size() > 1) return plan_kinds(flags);
  const DeviceFacts facts = find_facts(flags.hardware);
  if (flags.prices.watts == 0) flags.prices.watts = facts.watts;
  const std::vector<i64> counts = gpu_counts(flags);
  if (flags.assume_tokens_per_second > 0) {
    const search::Assumed assumed{flags.assume_tokens_per_second, flags.force};
    log::say("{}", search::assumed_text(flags.options, facts, asked_of(flags, counts.front()), assumed));
    return 0;
  }
  search::Searcher searcher(flags.options, facts);
  return counts.size() > 1 ? plan_over(searcher, flags, counts) : plan_for(searcher, flags, counts.front());
}

}  // namespace megalith
