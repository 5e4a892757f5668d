#include "train/step_replay.h"

#include <algorithm>

#include "base/log.h"
#include "base/rng.h"
#include "comm/doubt_codes.h"
#include "comm/member.h"
#include "plan/leaf_hash.h"
#include "train/evaluation.h"
#include "train/kept_leaves.h"

namespace megalith {

StepReplay::StepReplay(const Options& options, const ReplaySite& site, std::shared_ptr<const Dataset> train)
    : o_(options), site_(site), train_(std::move(train)) {
  for (const Leaf& leaf : site.step.plan.leaves)
    if (leaf.role == Role::gradient && leaf.bucket < 0) leaves_.push_back(&leaf);
}

// The first micro-batch, or of a pipeline all, which its order of work is made for.
std::optional<int> StepReplay::look(const RunState& state, i64 samples) {
  if (!train_) return {};
  const Mesh& mesh = site_.step.plan.mesh;
  LoaderConfig config = rank_loader_config(o_, mesh, site_.coord, Split::train, state.consumed_samples - samples);
  config.num_workers = 0;
  const i64 all = samples / (config.micro_batch_size * config.data_parallel_size);
  const i64 micro_batches = site_.step.pipeline ? all : 1;
  const KeptLeaves kept(site_.step.plan, site_.interpreter);
  const auto run = [&] {
    const u64 hash = gradients(config, micro_batches);
    kept.put_back();
    return hash;
  };
  const u64 first = run(), second = run();
  const std::vector<std::string> same = site_.ranks.all_gather(first == second ? "" : "-");
  if (std::ranges::all_of(same, &std::string::empty)) return {};
  return tell(state.iteration, first, second, run());
}

u64 StepReplay::gradients(const LoaderConfig& config, i64 micro_batches) {
  DataLoader loader(train_, config);
  site_.watches.step_repeats();
  site_.trainer.run_again(loader, micro_batches);
  u64 h = 0;
  for (const u64 leaf : hash_leaves(site_.interpreter, site_.step.plan.mesh, site_.coord, leaves_)) h = mix(h, leaf);
  return h;
}

std::optional<int> StepReplay::tell(i64 iteration, u64 first, u64 second, u64 third) {
  ++differences_;
  const bool differs = first != second, stays = differs && third != first && third != second;
  const std::vector<std::string> all = site_.ranks.all_gather(fmt::format("{}{}",
                                                                          !differs ? '='
                                                                          : stays  ? '!'
                                                                                   : '~',
                                                                          Member::self(site_.ranks.rank()).host));
  for (size_t r = 0; r < all.size(); ++r) {
    if (all[r][0] == '=') continue;
    log::warn("iteration {}: rank {} on {} computes wrongly: the same micro-batch gave {}. {} ({} of this start)",
              iteration, r, all[r].substr(1),
              all[r][0] == '!' ? "other gradients each of three times, so the fault is persistent"
                               : "other gradients once of three times, so the fault was transient",
              all[r][0] == '!' ? "Take its device out" : "If it is named again take its device out", differences_);
  }
  if (o_.train.rerun_mode == RerunMode::report_stats) return {};
  return !differs ? kEndedByOthers : stays ? kPersistentDoubt : kTransientDoubt;
}

}  // namespace megalith
