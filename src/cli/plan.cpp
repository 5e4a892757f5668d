// megalith plan: which layout of a model on so many GPUs is the fastest that fits, and what a run takes.
#include <chrono>
#include <fstream>

#include "base/log.h"
#include "base/mistakes.h"
#include "cli/command.h"
#include "cli/plan_flags.h"
#include "facts/facts_file.h"
#include "search/command.h"

namespace megalith {

namespace {

constexpr int kNothingFits = 3;

void write(const char* flag, const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream out(path, std::ios::trunc);
  out << text << std::flush;
  check(bool(out), "{} {}: can't be written: name another file", flag, path);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

search::Asked asked_of(const PlanFlags& flags, i64 gpus) {
  return {.gpus = gpus, .headroom = flags.memory_headroom, .tokens = flags.tokens, .prices = flags.prices};
}

search::Outcome run(search::Searcher& searcher, const PlanFlags& flags, search::Asked& asked, size_t top) {
  const double start = now();
  search::Outcome out = searcher.run({.gpus = asked.gpus,
                                      .top = top,
                                      .headroom = flags.memory_headroom,
                                      .wanted = search::parse_wanted(flags.explain)});
  asked.seconds = now() - start;
  if (!out.mistakes.empty()) throw Mistakes(out.mistakes);
  return out;
}

int plan_for(search::Searcher& searcher, const PlanFlags& flags, i64 gpus) {
  search::Asked asked = asked_of(flags, gpus);
  const search::Outcome found = run(searcher, flags, asked, flags.explain.empty() ? size_t(flags.top) : 1);
  const Options& base = searcher.base();
  const DeviceFacts& facts = searcher.facts();
  std::vector<search::Row> rows;
  std::vector<std::string> commands;
  for (const search::Found& f : found.best) {
    rows.push_back(search::row_of(base, f, facts, asked));
    commands.push_back(search::command_of(base, f.choice, asked));
  }
  log::say("{}", search::head_text(base, facts, asked, found));
  if (!rows.empty()) log::say("{}", search::table_text(rows, facts, asked));
  if (const std::string refused = search::refused_text(found, facts, asked); !refused.empty()) log::say("{}", refused);
  if (!rows.empty()) log::say("{}", search::run_text(base, rows[0], asked));
  write("--json", flags.json, search::rows_json(base, facts, asked, rows, found, commands));
  write("--csv", flags.csv, search::rows_csv(rows));
  if (!flags.explain.empty() && !rows.empty()) {
    const search::Choice& c = rows[0].choice;
    log::say("\n{}", search::explained(base, c, searcher.texts().of(c), facts, asked));
  }
  if (rows.empty())
    log::say("no layout fits {} x {}: use more GPUs, or a smaller model or --seq-length", gpus, facts.name);
  return rows.empty() ? kNothingFits : 0;
}

// The best layout of each number of GPUs; which of them are through in time.
int plan_over(search::Searcher& searcher, const PlanFlags& flags, const std::vector<i64>& counts) {
  std::vector<search::Row> rows;
  search::Asked asked = asked_of(flags, 1);
  for (const i64 gpus : counts) {
    asked.gpus = gpus;
    const search::Outcome found = run(searcher, flags, asked, 1);
    if (found.best.empty())
      log::say("{} GPUs: no layout fits", gpus);
    else
      rows.push_back(search::row_of(searcher.base(), found.best[0], searcher.facts(), asked));
  }
  if (!rows.empty()) log::say("{}", search::counts_text(rows, asked));
  write("--csv", flags.csv, search::rows_csv(rows));
  write("--json", flags.json, search::rows_json(searcher.base(), searcher.facts(), asked, rows, {}, {}));
  const auto in_time = [&](const search::Row& r) { return flags.max_days == 0 || r.cost.days <= flags.max_days; };
  const auto least = std::ranges::find_if(rows, in_time);
  if (least == rows.end()) {
    log::say("none of these numbers of GPUs {}", rows.empty() ? "holds the model" : "is through in time");
    return kNothingFits;
  }
  if (flags.max_days > 0)
    log::say("within {:g} days: {} GPUs are the least, {:.4g} days", flags.max_days, least->gpus, least->cost.days);
  const auto cheaper = [](const search::Row& a, const search::Row& b) { return a.cost.usd < b.cost.usd; };
  std::vector<search::Row> fitting;
  std::ranges::copy_if(rows, std::back_inserter(fitting), in_time);
  const search::Row& cheapest = *std::ranges::min_element(fitting, cheaper);
  if (flags.prices.gpu_hour > 0) log::say("the cheapest: {} GPUs, {:.0f} USD", cheapest.gpus, cheapest.cost.usd);
  asked.gpus = least->gpus;
  log::say("run on {}:  {}", least->gpus, search::command_of(searcher.base(), least->choice, asked));
  return 0;
}

}  // namespace

int command_plan(int argc, const char* const* argv) {
  PlanFlags flags;
  if (!read_plan_flags(flags, argc, argv)) return 0;
  for (const std::string& note : flags.options.notes) log::info("{}", note);
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
