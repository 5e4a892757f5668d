// Rules about products in fp8 and fp4.
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;
using Format = QuantizeConfig::Format;
using Recipe = QuantizeConfig::Recipe;

bool in_fp8(const Options& o) { return o.quantize.format != Format::none; }
const char* format_flag(const Options& o) { return in_fp8(o) ? "--fp8-format" : "--fp4-format"; }

std::string one_format(const Options& o) {
  if (!in_fp8(o) || !o.quantize.is_fp4()) return {};
  return "--fp8-format and --fp4-format exclude each other: give one";
}

std::string not_e5m2_alone(const Options& o) {
  if (o.quantize.format != Format::e5m2) return {};
  return "--fp8-format e5m2 has too few bits for weights and inputs: give hybrid, which has e5m2 for gradients, or "
         "e4m3";
}

std::string a_built_recipe(const Options& o) {
  const QuantizeConfig& c = o.quantize;
  if (in_fp8(o) && c.recipe == Recipe::custom)
    return "--fp8-recipe custom takes quantizers from Python: give delayed, tensorwise, blockwise or mxfp8";
  if (c.is_fp4() && c.fp4_recipe == QuantizeConfig::Fp4Recipe::custom)
    return "--fp4-recipe custom takes quantizers from Python: give nvfp4";
  return {};
}

std::string a_history(const Options& o) {
  const QuantizeConfig& c = o.quantize;
  if (c.amax_history_len < 1 || c.amax_history_len > 1 << 16)
    return fmt::format("--fp8-amax-history-len {} is out of range: from 1 to 65536 is wanted", c.amax_history_len);
  if (c.margin < 0 || c.margin > 64)
    return fmt::format("--fp8-margin {} is out of range: from 0 to 64 is wanted", c.margin);
  return {};
}

std::string delayed_for_all_layers(const Options& o) {
  if (!o.quantize.is_delayed() || !o.quantize.ends_in_bf16) return {};
  return "--first-last-layers-bf16 has no meaning with --fp8-recipe delayed, as in Megatron: give tensorwise or "
         "blockwise";
}

std::string delayed_without_loss_scale(const Options& o) {
  if (!o.quantize.is_delayed() || (!o.train.fp16 && o.optimizer.loss_scale == 0)) return {};
  return fmt::format(
      "--fp8-recipe delayed is not built for {}: its history would be of gradients times a changing scale: give "
      "--fp8-recipe tensorwise, or only --bf16",
      o.train.fp16 ? "--fp16" : "--loss-scale");
}

std::string one_stack(const Options& o) {
  if (!o.quantize.on() || !o.quantize.ends_in_bf16 || !o.model.is_t5()) return {};
  return "--first-last-layers-bf16 is not built for a T5, which has two stacks: leave it out";
}

// Blocks of 128 of an expert's rows would depend on where the rows of other experts end.
std::string one_scale_for_experts(const Options& o) {
  const QuantizeConfig& c = o.quantize;
  if (!c.on() || o.model.moe.num_experts == 0) return {};
  if (in_fp8(o) && (c.recipe == Recipe::delayed || c.recipe == Recipe::tensorwise)) return {};
  return fmt::format("{} {} is not built for --num-experts {}: give {}--fp8-recipe delayed or tensorwise",
                     in_fp8(o) ? "--fp8-recipe" : "--fp4-recipe", name_of_recipe(c), o.model.moe.num_experts,
                     in_fp8(o) ? "" : "--fp8-format hybrid in place of --fp4-format, with ");
}

std::string groups_for_all(const Options& o) {
  const i64 tp = o.parallel.tensor_model_parallel_size, groups = o.model.num_query_groups;
  if (!o.quantize.on() || o.model.mla.on() || groups <= 0 || tp <= groups) return {};
  return fmt::format(
      "{} is not built for --tensor-model-parallel-size {} above --num-query-groups {}, where gradients of keys are "
      "sums over ranks: give at most {}",
      format_flag(o), tp, groups, groups);
}

std::string no_offload(const Options& o) {
  if (!o.quantize.on() || !o.offload.on) return {};
  return fmt::format("--fine-grained-activation-offloading does not know codes of {}: leave one out", format_flag(o));
}

// The fp8 features that work with all-gathers of codes.
std::string gathers_what_is_built(const Options& o) {
  const QuantizeConfig& c = o.quantize;
  if (!c.gather_codes) return {};
  const auto no = [](const std::string& with, const std::string& give) {
    return fmt::format("--fp8-param-gather {}: {}", with, give);
  };
  if (!in_fp8(o)) return no("is of training in fp8", "give --fp8-format, or leave it out");
  if (!o.parallel.use_distributed_optimizer)
    return no("is of an optimizer that is cut over ranks", "give --use-distributed-optimizer, or leave it out");
  if (!o.train.bf16) return no("is built for --bf16", "give that, or leave it out");
  if (c.recipe != Recipe::delayed && c.recipe != Recipe::tensorwise)
    return no(fmt::format("is not built for --fp8-recipe {}", name_of_recipe(c)), "give delayed or tensorwise");
  if (c.ends_in_bf16) return no("is not built for --first-last-layers-bf16", "leave one out");
  if (o.model.moe.num_experts > 0) return no("is not built for --num-experts", "leave it out");
  if (o.parallel.stages() > 1) return no("is not built for pipelines", "give other parallel sizes, or leave it out");
  if (o.optimizer.optimizer_cpu_offload) return no("is not built for --optimizer-cpu-offload", "leave one out");
  return {};
}

std::string layers_are_left(const Options& o) {
  const QuantizeConfig& c = o.quantize;
  if (!c.on() || !c.ends_in_bf16) return {};
  if (c.layers_at_start >= 0 && c.layers_at_end >= 0 && c.layers_at_start + c.layers_at_end < o.model.num_layers)
    return {};
  return fmt::format(
      "--num-layers-at-start-in-bf16 {} and --num-layers-at-end-in-bf16 {} leave none of --num-layers {} for {}: give "
      "smaller ones, from 0 on",
      c.layers_at_start, c.layers_at_end, o.model.num_layers, format_flag(o));
}

std::string something_is_quantized(const Options& o) {
  const QuantizeConfig& c = o.quantize;
  std::string lines;
  const auto add = [&lines](const std::string& line) { lines += (lines.empty() ? "" : "\n") + line; };
  for (const std::string_view flag : {"fp8-recipe", "fp8-head", "fp4-recipe", "fp8-wgrad", "first-last-layers-bf16"}) {
    const bool of_fp4 = flag == "fp4-recipe", of_fp8 = flag == "fp8-recipe" || flag == "fp8-head";
    if (o.given.has(flag) && !(of_fp4 ? c.is_fp4() : of_fp8 ? in_fp8(o) : c.on()))
      add(fmt::format("--{}{} has no effect without --{}", flag == "fp8-wgrad" ? "no-" : "", flag,
                      of_fp4 ? "fp4-format" : "fp8-format"));
  }
  for (const char* flag : {"fp8-amax-history-len", "fp8-amax-compute-algo", "fp8-margin"})
    if (o.given.has(flag) && !c.is_delayed()) add(fmt::format("--{} has no effect without --fp8-recipe delayed", flag));
  for (const char* flag : {"num-layers-at-start-in-bf16", "num-layers-at-end-in-bf16"})
    if (o.given.has(flag) && !c.ends_in_bf16)
      add(fmt::format("--{} has no effect without --first-last-layers-bf16", flag));
  return lines;
}

std::string mx_in_e4m3(const Options& o) {
  if (o.quantize.format != Format::hybrid || o.quantize.recipe != Recipe::mxfp8) return {};
  return "--fp8-format hybrid with --fp8-recipe mxfp8: long runs with gradients in e5m2 diverged (arXiv 2506.08027); "
         "e4m3 did not";
}

std::string emulated(const Options& o) {
  const bool mx = in_fp8(o) && o.quantize.recipe == Recipe::mxfp8;
  if (!mx && !o.quantize.is_fp4()) return {};
  return fmt::format("{} is emulated: values are rounded to codes and multiplied in their own type",
                     mx ? "--fp8-recipe mxfp8" : "--fp4-recipe nvfp4");
}

}  // namespace

std::vector<Rule> quantize_rules() {
  return {
      {"fp8 and fp4 exclude each other", Topic::run, Action::refuse, one_format},
      {"fp8-format is hybrid or e4m3", Topic::run, Action::refuse, not_e5m2_alone},
      {"the recipe of fp8 or fp4 is built", Topic::run, Action::refuse, a_built_recipe},
      {"the history of delayed scaling is in range", Topic::run, Action::refuse, a_history},
      {"first-last-layers-bf16 comes without delayed", Topic::run, Action::refuse, delayed_for_all_layers},
      {"delayed scaling comes without a loss scale", Topic::run, Action::refuse, delayed_without_loss_scale},
      {"first-last-layers-bf16 is of models with one stack", Topic::run, Action::refuse, one_stack},
      {"fp8 of experts has one scale for each tensor", Topic::run, Action::refuse, one_scale_for_experts},
      {"fp8 and fp4 have a query group for each tensor-parallel rank", Topic::run, Action::refuse, groups_for_all},
      {"codes of fp8 and fp4 are not offloaded", Topic::run, Action::refuse, no_offload},
      {"fp8-param-gather comes with a layout that supports it", Topic::run, Action::refuse, gathers_what_is_built},
      {"first-last-layers-bf16 leaves layers for fp8 or fp4", Topic::run, Action::refuse, layers_are_left},
      {"flags about fp8 and fp4 come with a format", Topic::run, Action::warn, something_is_quantized},
      {"mxfp8 has gradients in e4m3", Topic::run, Action::warn, mx_in_e4m3},
      {"the device supports the recipe", Topic::run, Action::warn, emulated},
  };
}

}  // namespace megalith
