#include "settings/length_units.h"

namespace megalith {
namespace {

struct Length {
  std::string name;  // of its fields, without the unit
  i64 &iters, &samples;
};

config::Given::From source_of(const Options& o, const std::string& field) { return o.given.uses.at(field).back().from; }

// To samples, or rounded up to iterations.
void convert(Options& o, const Length& length, const std::string& of_run, bool to_samples) {
  const std::string from = length.name + (to_samples ? "-iters" : "-samples");
  const std::string to = length.name + (to_samples ? "-samples" : "-iters");
  i64 &old = to_samples ? length.iters : length.samples, &now = to_samples ? length.samples : length.iters;
  if (old <= 0 || !o.given.has(from) || source_of(o, from) >= source_of(o, of_run)) return;
  const i64 size = o.train.global_batch_size;
  now = to_samples ? old * size : (old + size - 1) / size;
  o.notes.push_back(fmt::format("--{} {} is --{} {} with --{}", from, old, to, now, of_run));
  o.given.uses[to] = {{"--" + to, {std::to_string(now)}, source_of(o, from)}};
  o.given.uses.erase(from);
  old = 0;
}

}  // namespace

void settle_units(Options& o) {
  const bool to_samples = o.train.train_samples > 0;
  const std::string of_run = to_samples ? "train-samples" : "train-iters";
  if (!o.given.has(of_run) || o.train.global_batch_size <= 0) return;
  OptimizerConfig& p = o.optimizer;
  for (const Length& length : {Length{"lr-decay", p.lr_decay_iters, p.lr_decay_samples},
                               Length{"lr-warmup", p.lr_warmup_iters, p.lr_warmup_samples},
                               Length{"lr-wsd-decay", p.lr_wsd_decay_iters, p.lr_wsd_decay_samples}})
    convert(o, length, of_run, to_samples);
}

}  // namespace megalith
