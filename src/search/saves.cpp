#include "search/saves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/grouped.h"
#include "settings/batch_sizes.h"

namespace megalith::search {

namespace {

std::string bytes_text(double bytes) {
  for (const auto& [unit, name] : {std::pair(1e15, "PB"), {1e12, "TB"}, {1e9, "GB"}})
    if (bytes >= unit) return fmt::format("{:.4g} {}", bytes / unit, name);
  return fmt::format("{:.4g} MB", bytes / 1e6);
}

// The gain from shorter stalls and restarts. Empty if it is small.
std::string sooner_back(const Row& row, const Asked& asked) {
  constexpr double kStall = 0.05, kBack = 10, kLittle = 0.001;
  Prices better = asked.prices;
  better.save_stall_seconds = std::min(better.save_stall_seconds, kStall);
  better.detect_seconds = 0, better.restart_seconds = std::min(asked.prices.restart_seconds, kBack);
  const Goodput g = goodput(better, row.gpus, row.step_seconds);
  if (g.useful - row.goodput.useful < kLittle) return {};
  return fmt::format("\n  a stall of {:g} s and {:g} s to be back would make it {:.2f}%", better.save_stall_seconds,
                     better.restart_seconds, 100 * g.useful);
}

}  // namespace

Saves saves_of(const Options& base, const Row& row, const Asked& asked) {
  constexpr double kDaysOfMonth = 30;
  Options sized = base;
  sized.parallel.world_size = row.gpus;
  const Options o = with(sized, row.choice);
  const TrainConfig& t = base.train;
  const double steps = std::ceil(asked.run_tokens() / double(BatchSizes(o).largest() * o.model.seq_length));
  Saves out{.each = save_bytes(base)};
  out.taken = std::ceil(steps / double(row.goodput.save_steps));
  out.kept = out.taken;
  const bool latest = t.most_recent_k > 0;
  if (t.save_retain_interval > 0) out.kept = std::min(out.kept, 1 + std::floor(steps / double(t.save_retain_interval)));
  if (latest) out.kept = std::min(out.kept, double(t.most_recent_k));
  const double share = latest ? 1 : 0.5;  // their number grows linearly
  out.usd = share * out.bytes() / 1e12 * asked.prices.storage_tb_month * row.cost.days / kDaysOfMonth;
  return out;
}

std::string goodput_text(const Options& base, const Row& row, const Asked& asked) {
  const Goodput& g = row.goodput;
  const Saves saves = saves_of(base, row, asked);
  std::string out = fmt::format(
      "of #1: a failure every {:.4g} hours; a save of {:.4g} GB every {} steps ({:.4g} minutes); {:.2f}% of the time "
      "is "
      "useful",
      g.failure_hours, saves.each / 1e9, g.save_steps, g.save_seconds / 60, 100 * g.useful);
  out += sooner_back(row, asked);
  out += fmt::format("\n  {} saves in the run, of which {} stay: {}", grouped(i64(saves.taken)),
                     grouped(i64(saves.kept)), bytes_text(saves.bytes()));
  if (asked.prices.storage_tb_month > 0) out += fmt::format(", {} USD", grouped(std::llround(saves.usd)));
  if (saves.kept > 100) out += "; --most-recent-k keeps fewer";
  return out;
}

}  // namespace megalith::search
