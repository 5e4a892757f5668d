// The report as text.
#include <fmt/format.h>

#include <algorithm>

#include "models/gpt/gpt.h"
#include "search/command.h"
#include "search/saves.h"
#include "settings/batch_sizes.h"
#include "step/model_size.h"

namespace megalith::search {

namespace {

double gib(double bytes) { return bytes / (1 << 30); }

std::string_view name_of(Recompute level) {
  constexpr std::string_view kNames[] = {"flags", "none", "parts", "full"};
  return kNames[int(level)];
}

// "1T", "15.6T", "300B".
std::string tokens_text(double tokens) {
  for (const auto& [unit, letter] : {std::pair(1e12, 'T'), {1e9, 'B'}, {1e6, 'M'}})
    if (tokens >= unit) return fmt::format("{:.4g}{}", tokens / unit, letter);
  return fmt::format("{:.0f}", tokens);
}

// The unusual settings of a layout, after its sizes.
std::string other_words(const Choice& c) {
  std::string out;
  const auto add = [&](bool said, const char* word) {
    if (said) out += std::string(out.empty() ? "" : " ") + word;
  };
  add(c.cp > 1 && c.cp_comm == CpCommType::a2a, "a2a");
  add(c.cp > 1 && c.cp_comm == CpCommType::p2p, "p2p");
  add(c.balanced, "balanced"), add(c.zero_bubble, "zero-bubble"), add(c.offload, "offload");
  add(!c.sharded, "replicated"), add(c.tp_overlap, "tp-overlap");
  return out;
}

}  // namespace

std::string head_text(const Options& base, const DeviceFacts& facts, const Asked& asked, const Outcome& found) {
  const Options o = with(base, {.micro_batch = std::max<i64>(1, base.train.micro_batch_size)});
  const double batch = double(base.train.global_batch_size), s = double(o.model.seq_length);
  i64 refused = 0;
  for (const auto& [reason, r] : found.reasons) refused += r.count;
  return fmt::format(
      "model {:.4g}B parameters, sequences of {}, global batch {} ({} tokens), on {} x {}{}\n"
      "{} layouts: {} are refused, {} are slower by a bound or an estimate, {} were planned to the byte; {:.1f} s",
      size_of(Gpt(o.model)).parameters() / 1e9, i64(s), i64(batch), tokens_text(batch * s), asked.gpus, facts.name,
      facts.measured ? "" : " (its facts were not measured)", found.layouts, refused, found.slower, found.planned,
      asked.seconds);
}

std::string table_text(const std::vector<Row>& rows, const DeviceFacts& facts, const Asked& asked) {
  const std::string tokens = tokens_text(asked.run_tokens());
  const bool priced = asked.prices.gpu_hour > 0, powered = asked.prices.watts > 0;
  std::string out = fmt::format(
      "{:>3} {:>3} {:>3} {:>3} {:>3} {:>5} {:>3} {:>3} {:>3} {:>9}  {:>9} {:>6} {:>8} {:>8} {:>7} "
      "{:>6} {:>6} {:>7} {:>9}",
      "#", "tp", "pp", "vpp", "cp", "dp", "ep", "etp", "mbs", "recompute", "GiB", "free", "s/step", "tok/s/G",
      "TFLOP/s", "MFU", "idle", "exposed", "days/" + tokens);
  if (priced) out += fmt::format(" {:>11}", "USD/" + tokens);
  if (powered) out += fmt::format(" {:>8}", "MWh/" + tokens);
  int number = 0;
  for (const Row& r : rows) {
    const Choice& c = r.choice;
    const double all = double(facts.memory_bytes);
    out += fmt::format(
        "\n{:>3} {:>3} {:>3} {:>3} {:>3} {:>5} {:>3} {:>3} {:>3} {:>9}  {:>6.1f}({}) {:>6.1f} {:>8.4g} "
        "{:>8.0f} {:>7.0f} {:>6} {:>5.1f}% {:>6.1f}% {:>9.4g}",
        ++number, c.tp, c.pp, c.vpp, c.cp, r.dp, c.ep, c.etp, c.micro_batch, name_of(c.recompute), gib(double(r.bytes)),
        r.stage, gib(all - double(r.bytes)), r.step_seconds, r.gpu_tokens(), r.tflops,
        r.mfu > 0 ? fmt::format("{:.1f}%", 100 * r.mfu) : "-", 100 * r.bubble, 100 * r.exposed, r.cost.days);
    if (priced) out += fmt::format(" {:>11.0f}", r.cost.usd);
    if (powered) out += fmt::format(" {:>8.4g}", r.cost.mwh);
    if (const std::string words = other_words(c); !words.empty()) out += "  " + words;
  }
  return out +
         "\nGiB (of which pipeline stage): the plan of the fullest rank, as --dry-run prints it; idle: of the "
         "pipeline, over its work; exposed: transfers that nothing hides";
}

std::string refused_text(const Options& base, const Outcome& found, const DeviceFacts& facts, const Asked& asked) {
  std::vector<std::pair<std::string, Refused>> reasons(found.reasons.begin(), found.reasons.end());
  std::ranges::stable_sort(reasons, std::ranges::greater(), [](const auto& r) { return r.second.count; });
  std::string out = reasons.empty() ? "" : "refused:";
  for (const auto& [reason, r] : reasons) {
    out += fmt::format("\n  {:>7}  {}", r.count, reason);
    if (!r.example.empty()) out += fmt::format(" (first: {})", r.example);
  }
  const double limit = double(facts.memory_bytes) * (1 - asked.headroom);
  for (const Miss& m : found.misses)
    out += fmt::format("\n  nearest miss of memory: {} needs {}{:.1f} GiB of {:.1f}", to_string(m.choice),
                       m.exact ? "" : "about ", gib(m.bytes), gib(limit));
  if (found.too_slow) {
    const Slow& s = *found.too_slow;
    const Options o = with(base, {.micro_batch = std::max<i64>(1, base.train.micro_batch_size)});
    const double tokens = double(BatchSizes(o).largest() * o.model.seq_length) / s.seconds;
    const double useful = goodput(asked.prices, asked.gpus, s.seconds).useful;
    const RunCost cost = cost_of(asked.prices, asked.gpus, asked.run_tokens(), tokens, useful);
    out += fmt::format("\n  the fastest layout that takes too long: {} takes {}{:.4g} days", to_string(s.choice),
                       s.exact ? "" : "at least ", cost.days);
    if (asked.prices.gpu_hour > 0) out += fmt::format(", {:.0f} USD", cost.usd);
  }
  return out;
}

std::string run_text(const Options& base, const Row& row, const Asked& asked) {
  std::string out = fmt::format("{}\nrun:  {}", goodput_text(base, row, asked), command_of(base, row.choice, asked));
  if (const std::string rest = still_missing(base, asked); !rest.empty())
    out += fmt::format("\nadd these flags: {}", rest);
  return out;
}

}  // namespace megalith::search
