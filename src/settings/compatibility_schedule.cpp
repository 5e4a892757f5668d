// Rules about the length of the run and the schedules over it.
#include "optim/optimizer.h"
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

bool by_samples(const Options& o) { return o.train.train_samples > 0; }

// Lengths in the run's own unit, iterations or samples.
struct Lengths {
  i64 decay, warmup, wsd;
  const char* unit;
};
Lengths lengths(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  if (by_samples(o))
    return {p.lr_decay_samples ? p.lr_decay_samples : o.train.train_samples, p.lr_warmup_samples,
            p.lr_wsd_decay_samples, "samples"};
  return {p.lr_decay_iters ? p.lr_decay_iters : o.train.train_iters, p.lr_warmup_iters, p.lr_wsd_decay_iters, "iters"};
}

std::string one_length(const Options& o) {
  if (o.train.train_iters == 0 || o.train.train_samples == 0) return {};
  return fmt::format("--train-iters {} and --train-samples {} exclude each other: give one", o.train.train_iters,
                     o.train.train_samples);
}

std::string one_unit(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  struct Pair {
    const char* name;
    i64 iters, samples;
  };
  for (const Pair& pair : {Pair{"--lr-decay", p.lr_decay_iters, p.lr_decay_samples},
                           {"--lr-warmup", p.lr_warmup_iters, p.lr_warmup_samples},
                           {"--lr-wsd-decay", p.lr_wsd_decay_iters, p.lr_wsd_decay_samples}}) {
    if (by_samples(o) && pair.iters != 0)
      return fmt::format("{0}-iters {1} with --train-samples: give {0}-samples", pair.name, pair.iters);
    if (!by_samples(o) && pair.samples != 0)
      return fmt::format("{0}-samples {1} with --train-iters: give {0}-iters", pair.name, pair.samples);
  }
  return {};
}

std::string one_warmup(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  if (p.lr_warmup_fraction == 0 || (p.lr_warmup_iters == 0 && p.lr_warmup_samples == 0)) return {};
  return fmt::format("--lr-warmup-fraction {} and --lr-warmup-{} {} exclude each other: give one", p.lr_warmup_fraction,
                     p.lr_warmup_iters ? "iters" : "samples",
                     p.lr_warmup_iters ? p.lr_warmup_iters : p.lr_warmup_samples);
}

std::string warmup_fraction(const Options& o) {
  const double f = o.optimizer.lr_warmup_fraction;
  return f >= 0 && f < 1 ? "" : fmt::format("--lr-warmup-fraction {} is out of range: from 0 to below 1 is wanted", f);
}

std::string warmup_fits(const Options& o) {
  const Lengths l = lengths(o);
  if (l.warmup < l.decay || l.decay == 0) return {};
  return fmt::format("--lr-warmup-{0} {1} is not less than the {2} {0} of the decay: shorten the warm-up", l.unit,
                     l.warmup, l.decay);
}

std::string rates(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  if (p.lr < 0) return fmt::format("--lr {} must not be negative", p.lr);
  if (p.min_lr < 0) return fmt::format("--min-lr {} must not be negative", p.min_lr);
  if (p.min_lr > p.lr) return fmt::format("--min-lr {} is more than --lr {}: lower it", p.min_lr, p.lr);
  return {};
}

std::string decoupled_rates(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  if (!p.decoupled_lr)
    return p.decoupled_min_lr ? "--decoupled-min-lr has no effect without --decoupled-lr: give both or neither" : "";
  const double least = p.decoupled_min_lr.value_or(p.min_lr);
  if (*p.decoupled_lr < 0 || least < 0) return "--decoupled-lr and --decoupled-min-lr must not be negative";
  if (least > *p.decoupled_lr)
    return fmt::format("--decoupled-min-lr {} (left out: --min-lr) is more than --decoupled-lr {}: lower it", least,
                       *p.decoupled_lr);
  if (p.lr_warmup_init > *p.decoupled_lr)
    return fmt::format("--lr-warmup-init {} is more than --decoupled-lr {}: lower it", p.lr_warmup_init,
                       *p.decoupled_lr);
  return {};
}

std::string warmup_init(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  if (p.lr < 0 || (p.lr_warmup_init >= 0 && p.lr_warmup_init <= p.lr)) return {};
  return fmt::format("--lr-warmup-init {} is out of range: from 0 to --lr {} is wanted", p.lr_warmup_init, p.lr);
}

std::string wsd_length(const Options& o) {
  if (o.optimizer.lr_decay_style != LrDecayStyle::wsd) return {};
  const Lengths l = lengths(o);
  if (l.wsd > 0 && l.wsd <= l.decay) return {};
  return fmt::format("--lr-decay-style WSD needs --lr-wsd-decay-{0} from 1 to the {1} {0} of the decay, not {2}",
                     l.unit, l.decay, l.wsd);
}

std::string wsd_style(const Options& o) {
  if (o.optimizer.lr_decay_style == LrDecayStyle::wsd) return {};
  for (const char* field : {"lr-wsd-decay-style", "lr-wsd-decay-iters", "lr-wsd-decay-samples"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --lr-decay-style WSD", field);
  return {};
}

std::string weight_decay_ends(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  const bool moves = p.weight_decay_incr_style != WeightDecayIncrStyle::constant;
  if (moves && !(p.start_weight_decay && p.end_weight_decay))
    return "--weight-decay-incr-style linear and cosine need both --start-weight-decay and --end-weight-decay";
  if (!moves && (p.start_weight_decay || p.end_weight_decay))
    return "--start-weight-decay and --end-weight-decay need --weight-decay-incr-style linear or cosine";
  return {};
}

std::string weight_decay_values(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  if (p.weight_decay < 0) return fmt::format("--weight-decay {} must not be negative", p.weight_decay);
  if (!p.start_weight_decay || !p.end_weight_decay) return {};
  if (*p.start_weight_decay >= 0 && *p.end_weight_decay >= *p.start_weight_decay) return {};
  return fmt::format("--start-weight-decay {} and --end-weight-decay {}: from 0 on and not falling is wanted",
                     *p.start_weight_decay, *p.end_weight_decay);
}

std::string optimizer_numbers(const Options& o) {
  const OptimizerConfig& p = o.optimizer;
  for (i64 i = 0; i < p.all.size(); ++i)
    if (std::string wrong = p.all.at(i).mistake(); !wrong.empty()) return wrong;
  if (p.clip_grad < 0) return fmt::format("--clip-grad {} must not be negative (0: no clipping)", p.clip_grad);
  return {};
}

std::string one_resume_policy(const Options& o) {
  if (!o.optimizer.override_opt_param_scheduler || !o.optimizer.use_checkpoint_opt_param_scheduler) return {};
  return "--override-opt-param-scheduler and --use-checkpoint-opt-param-scheduler exclude each other: give one";
}

std::string offload_flags(const Options& o) {
  if (o.optimizer.optimizer_cpu_offload) return {};
  for (const char* field : {"optimizer-offload-fraction", "overlap-cpu-optimizer-d2h-h2d"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --optimizer-cpu-offload", field);
  return {};
}

std::string offload_fraction(const Options& o) {
  const double f = o.optimizer.optimizer_offload_fraction;
  if (f >= 0 && f <= 1) return {};
  return fmt::format("--optimizer-offload-fraction {} is out of range: from 0 to 1 is wanted", f);
}

std::string offloaded_elements(const Options& o) {
  const Optimizer& chosen = o.optimizer.chosen();
  if (!o.optimizer.optimizer_cpu_offload || chosen.granularity() == Granularity::element) return {};
  return fmt::format(
      "--optimizer-cpu-offload updates state in windows, but --optimizer {} needs unsplit matrices: leave it out, or "
      "use "
      "--optimizer adam",
      chosen.name());
}

std::string offload_in_turn(const Options& o) {
  if (!o.optimizer.optimizer_cpu_offload) return {};
  if (o.optimizer.optimizer_offload_fraction == 0)
    return "--optimizer-cpu-offload has no effect with --optimizer-offload-fraction 0: leave both out, or raise it";
  if (o.optimizer.overlap_cpu_optimizer_d2h_h2d || o.train.device.kind() == DeviceKind::cpu) return {};
  return "--optimizer-cpu-offload without --overlap-cpu-optimizer-d2h-h2d: on a GPU transfers to and from the host do "
         "not overlap, which takes twice as long: add it";
}

}  // namespace

std::vector<Rule> schedule_rules() {
  return {
      {"train-iters and train-samples are not both given", Topic::run, Action::refuse, one_length},
      {"schedules are in the unit of the run, iterations or samples", Topic::run, Action::refuse, one_unit},
      {"warm-up is given once, as a fraction or as a length", Topic::run, Action::refuse, one_warmup},
      {"lr-warmup-fraction is from 0 to below 1", Topic::run, Action::refuse, warmup_fraction},
      {"warm-up is shorter than the decay", Topic::run, Action::refuse, warmup_fits},
      {"0 <= min-lr <= lr", Topic::run, Action::refuse, rates},
      {"0 <= decoupled-min-lr <= decoupled-lr", Topic::run, Action::refuse, decoupled_rates},
      {"0 <= lr-warmup-init <= lr", Topic::run, Action::refuse, warmup_init},
      {"WSD has a decay length within the decay", Topic::run, Action::refuse, wsd_length},
      {"WSD flags come with WSD", Topic::run, Action::warn, wsd_style},
      {"start- and end-weight-decay are given exactly when the weight decay changes", Topic::run, Action::refuse,
       weight_decay_ends},
      {"weight decay is not negative and does not fall", Topic::run, Action::refuse, weight_decay_values},
      {"numbers of the optimizer are in range", Topic::run, Action::refuse, optimizer_numbers},
      {"a resumed schedule has one source", Topic::run, Action::refuse, one_resume_policy},
      {"flags about offloading come with optimizer-cpu-offload", Topic::run, Action::warn, offload_flags},
      {"optimizer-offload-fraction is from 0 to 1", Topic::run, Action::refuse, offload_fraction},
      {"optimizer-cpu-offload comes with an element-wise optimizer", Topic::run, Action::refuse, offloaded_elements},
      {"optimizer-cpu-offload comes with overlap-cpu-optimizer-d2h-h2d", Topic::run, Action::warn, offload_in_turn},
  };
}

}  // namespace megalith
