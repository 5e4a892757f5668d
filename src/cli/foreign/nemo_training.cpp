#include "cli/foreign/nemo_training.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/dtype.h"
#include "cli/foreign/flag_words.h"
#include "optim/optimizers.h"

namespace megalith {
namespace {

bool is_whole(const std::string& s) {
  return !s.empty() && s.size() < 16 && s.find_first_not_of("0123456789") == std::string::npos;
}

i64 number_of(const NemoValues& values, const char* key) {
  const NemoValue* v = values.find(key);
  return v && is_whole(v->text()) ? std::atoll(v->text().c_str()) : 0;
}

void take_precision(const NemoValues& values, NemoFlags& flags) {
  const NemoValue* v = values.find("trainer.precision");
  if (!v) return;
  const bool half = is_among(v->text(), "16 16-mixed 16-true fp16");
  if (!v->text().starts_with("32")) flags.put(half ? "--fp16" : "--bf16", {}, v->by_user());
}

void take_time(const NemoValue& v, NemoFlags& flags) {  // days:hours:minutes:seconds
  i64 minutes = 0, factor[] = {1440, 60, 1, 0}, n = 0;
  for (std::size_t at = 0; at < v.text().size() && n < 4; ++n) {
    const std::size_t end = std::min(v.text().find(':', at), v.text().size());
    minutes += factor[n] * std::atoll(v.text().substr(at, end - at).c_str());
    at = end + 1;
  }
  if (minutes > 0) flags.put("--exit-duration-in-mins", {std::to_string(minutes)}, v.by_user());
}

void take_optimizer(const NemoValue& v, NemoFlags& flags) {
  const std::vector<std::string> ours = Optimizers().names();
  if (is_among(v.text(), "distributed_fused_adam mcore_distributed_optim"))
    flags.put("--use-distributed-optimizer", {}, v.by_user());
  else if (is_among(v.text(), "fused_adam adam adamw megatron_fused_adam"))
    return;  // the default
  else if (std::ranges::find(ours, v.text()) != ours.end())
    flags.put("--optimizer", {v.text()}, v.by_user());
  else
    flags.refuse(fmt::format("this optimizer is not built: --optimizer accepts {}", fmt::join(ours, ", ")),
                 "model.optim.name", v);
}

void take_decay(const NemoValue& v, NemoFlags& flags) {
  if (v.text() == "CosineAnnealing")
    flags.put("--lr-decay-style", {"cosine"}, v.by_user());
  else if (v.text() == "InverseSquareRootAnnealing")
    flags.put("--lr-decay-style", {"inverse-square-root"}, v.by_user());
  else if (v.text() == "WarmupAnnealing")
    flags.put("--lr-decay-style", {"linear"}, v.by_user());
  else
    flags.refuse("--lr-decay-style accepts constant, linear, cosine, inverse-square-root and WSD",
                 "model.optim.sched.name", v);
}

// NeMo gives iterations, or a fraction of an epoch.
void take_evaluation(const NemoValues& values, NemoFlags& flags) {
  for (const auto& [key, flag] : {std::pair{"trainer.val_check_interval", "--eval-interval"},
                                  std::pair{"trainer.limit_val_batches", "--eval-iters"}}) {
    const NemoValue* v = values.find(key);
    if (!v) continue;
    if (is_whole(v->text()))
      flags.put(flag, v->items, v->by_user());
    else
      flags.refuse(fmt::format("{} counts iterations: a fraction of an epoch has no counterpart", flag), key, *v);
  }
}

// Only for whole layers, as in NeMo.
void take_recompute(const NemoValues& values, NemoFlags& flags) {
  const NemoValue* granularity = values.find("model.activations_checkpoint_granularity");
  for (const auto& [key, flag] : {std::pair{"model.activations_checkpoint_method", "--recompute-method"},
                                  std::pair{"model.activations_checkpoint_num_layers", "--recompute-num-layers"}})
    if (const NemoValue* v = values.find(key); v && granularity && granularity->text() == "full")
      flags.put(flag, v->items, v->by_user());
}

}  // namespace

void take_nemo_training(const NemoValues& values, NemoFlags& flags) {
  take_precision(values, flags);
  take_evaluation(values, flags);
  take_recompute(values, flags);
  if (const NemoValue* v = values.find("trainer.max_time")) take_time(*v, flags);
  if (const NemoValue* v = values.find("model.optim.name")) take_optimizer(*v, flags);
  if (const NemoValue* v = values.find("model.optim.betas"); v && v->items.size() == 2) {
    flags.put("--adam-beta1", {v->items[0]}, v->by_user());
    flags.put("--adam-beta2", {v->items[1]}, v->by_user());
  }
  if (const NemoValue* v = values.find("model.optim.sched.name")) take_decay(*v, flags);
  const i64 steps = number_of(values, "trainer.max_steps"),
            warmup = number_of(values, "model.optim.sched.warmup_steps");
  const NemoValue* warm = values.find("model.optim.sched.warmup_steps");
  if (warm && (warm->by_user() || warmup < steps)) flags.put("--lr-warmup-iters", warm->items, warm->by_user());
  const i64 constant = number_of(values, "model.optim.sched.constant_steps");  // at the end
  if (constant > 0 && steps - constant > warmup)
    flags.put("--lr-decay-iters", {std::to_string(steps - constant)}, false);
}

void take_nemo_shape(const NemoValues& values, NemoFlags& flags) {
  if (const NemoValue* v = values.find("model.activation")) {
    if (is_among(v->text(), "swiglu fast-swiglu"))
      flags.put("--swiglu", {}, v->by_user());
    else if (v->text() == "squared-relu")
      flags.put("--squared-relu", {}, v->by_user());
    else if (!is_among(v->text(), "gelu openai-gelu"))
      flags.refuse("this activation is not built: use gelu, swiglu or squared-relu", "model.activation", *v);
  }
  if (const NemoValue* v = values.find("model.normalization")) {
    flags.put("--normalization", {is_among(v->text(), "rmsnorm RMSNorm") ? "RMSNorm" : "LayerNorm"}, v->by_user());
    if (v->text() == "layernorm1p") flags.put("--apply-layernorm-1p", {}, v->by_user());
  }
  if (const NemoValue* v = values.find("model.peft.peft_scheme"); v && v->text() != "none")
    flags.refuse("adapters are not built yet: all weights are trained", "model.peft.peft_scheme", *v);
}

bool is_nemo_training_key(std::string_view key) {
  return is_among(key,
                  "trainer.precision trainer.val_check_interval trainer.limit_val_batches trainer.max_time "
                  "model.optim.name model.optim.betas model.optim.sched.name model.optim.sched.warmup_steps "
                  "model.optim.sched.constant_steps "
                  "model.activation model.normalization model.peft.peft_scheme "
                  "model.activations_checkpoint_method model.activations_checkpoint_num_layers");
}

}  // namespace megalith
