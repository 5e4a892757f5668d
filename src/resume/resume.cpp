#include "resume/resume.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_field.h"
#include "base/mismatch.h"
#include "ckpt/hf/hf_config.h"
#include "config/field.h"
#include "optim/optimizer.h"
#include "settings/schedules.h"

namespace megalith {

using nlohmann::json;

namespace {

constexpr const char* kLrStyles[] = {"constant", "linear", "cosine", "inverse-square-root", "WSD"};
constexpr const char* kWsdStyles[] = {"exponential", "linear", "cosine", "minus_sqrt"};
constexpr const char* kWdStyles[] = {"constant", "linear", "cosine"};

template <class E, size_t N>
E style_of(const json& j, const char* name, const char* const (&names)[N]) {
  const auto style = field_as<std::string>(j, name);
  const auto it = std::find(std::begin(names), std::end(names), style);
  check(it != std::end(names), "{} is '{}': want {}", name, style, fmt::join(names, ", "));
  return E(it - std::begin(names));
}

}  // namespace

void check_same_model(const ModelConfig& flags, const ModelConfig& stored, const std::string& where) {
  const auto expected = describe(flags), found = describe(stored);
  std::vector<Mismatch> mismatches;
  const auto value = [](const auto& list, const std::string& name) {
    for (const auto& [key, text] : list)
      if (key == name) return text;
    return std::string();
  };
  for (const auto& [name, text] : expected)
    if (value(found, name) != text) mismatches.push_back({name, text, value(found, name)});
  for (const auto& [name, text] : found)
    if (value(expected, name).empty()) mismatches.push_back({name, "", text});
  check(mismatches.empty(),
        "{} holds another model than the flags ({}): change the flags, or leave out the flags of the model", where,
        list_mismatches(mismatches));
}

json schedules_to_json(const Schedules& s) {
  json j = {{"lr", s.lr.max_lr},
            {"min_lr", s.lr.min_lr},
            {"lr_decay_style", kLrStyles[int(s.lr.style)]},
            {"lr_decay_samples", s.lr.decay_samples},
            {"lr_warmup_samples", s.lr.warmup_samples},
            {"lr_warmup_init", s.lr.warmup_init},
            {"weight_decay_incr_style", kWdStyles[int(s.weight_decay.style)]},
            {"start_weight_decay", s.weight_decay.start},
            {"end_weight_decay", s.weight_decay.end}};
  if (s.decoupled) j["decoupled_lr"] = s.decoupled->max_lr, j["decoupled_min_lr"] = s.decoupled->min_lr;
  if (s.lr.style == LrDecay::wsd) {
    j["lr_wsd_decay_style"] = kWsdStyles[int(s.lr.wsd_style)];
    j["lr_wsd_decay_samples"] = s.lr.wsd_decay_samples;
  }
  if (s.weight_decay.style != WdIncrease::constant) j["weight_decay_samples"] = s.weight_decay.total_samples;
  return j;
}

Schedules schedules_from_json(const json& j, const std::string& where) {
  try {
    Schedules s;
    s.lr.style = style_of<LrDecay>(j, "lr_decay_style", kLrStyles);
    s.lr.max_lr = field_as<double>(j, "lr"), s.lr.min_lr = field_as<double>(j, "min_lr");
    s.lr.decay_samples = field_as<double>(j, "lr_decay_samples");
    s.lr.warmup_samples = field_as<double>(j, "lr_warmup_samples");
    s.lr.warmup_init = field_as<double>(j, "lr_warmup_init");
    s.weight_decay.style = style_of<WdIncrease>(j, "weight_decay_incr_style", kWdStyles);
    s.weight_decay.start = field_as<double>(j, "start_weight_decay");
    s.weight_decay.end = field_as<double>(j, "end_weight_decay");
    if (s.lr.style == LrDecay::wsd) {
      s.lr.wsd_style = style_of<WsdDecay>(j, "lr_wsd_decay_style", kWsdStyles);
      s.lr.wsd_decay_samples = field_as<double>(j, "lr_wsd_decay_samples");
    }
    if (j.contains("decoupled_lr")) {
      s.decoupled = s.lr;
      s.decoupled->max_lr = field_as<double>(j, "decoupled_lr");
      s.decoupled->min_lr = field_as<double>(j, "decoupled_min_lr");
    }
    if (s.weight_decay.style != WdIncrease::constant)
      s.weight_decay.total_samples = field_as<double>(j, "weight_decay_samples");
    return s;
  } catch (const Error& e) {
    fail("{}: its schedule cannot be read: {}", where, e.what());
  }
}

Schedules choose_schedules(const Options& flags, const json& stored, const std::string& where) {
  const Schedules ours = make_schedules(flags);
  if (flags.optimizer.override_opt_param_scheduler) return ours;
  check(!stored.is_null(), "{} has no schedule: give --override-opt-param-scheduler to use the flags'", where);
  const Schedules theirs = schedules_from_json(stored, where);
  check(!flags.optimizer.use_checkpoint_opt_param_scheduler || bool(ours.decoupled) == bool(theirs.decoupled),
        "{} was saved {} --decoupled-lr, whose rates belong to the schedule: {}", where,
        theirs.decoupled ? "with" : "without", theirs.decoupled ? "give it too" : "leave it out");
  if (flags.optimizer.use_checkpoint_opt_param_scheduler) return theirs;
  const json expected = schedules_to_json(ours), found = schedules_to_json(theirs);
  std::vector<Mismatch> mismatches;
  const auto text = [](const json& j, const std::string& key) { return j.contains(key) ? j[key].dump() : ""; };
  for (const auto& [key, value] : expected.items())
    if (text(found, key) != value.dump()) mismatches.push_back({key, value.dump(), text(found, key)});
  for (const auto& [key, value] : found.items())
    if (!expected.contains(key)) mismatches.push_back({key, "", value.dump()});
  check(mismatches.empty(),
        "{} was saved with another schedule than the flags give ({}): --override-opt-param-scheduler follows the "
        "flags, --use-checkpoint-opt-param-scheduler the checkpoint",
        where, list_mismatches(mismatches));
  return ours;
}

namespace {

// "NAME SAVED -> NOW, ..." for the given fields.
std::string changed_fields(Options flags, Options stored, const std::set<std::string>& told,
                           const std::vector<std::string>& names) {
  std::string text;
  for (const config::Difference& d : config::differences(config::fields_of(stored), config::fields_of(flags)))
    if (told.contains(d.name) && std::ranges::find(names, d.name) != names.end())
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", d.name, d.expected, d.found);
  return text;
}

// Samples of one micro-batch on all ranks.
i64 samples_at_once(const Options& o) { return o.train.micro_batch_size * o.parallel.data_parallel_size(); }

// Whether the data may come from several files. Files that list other files are not opened.
bool may_blend(const DataConfig& c) {
  return c.data_path.size() > 1 || c.train_data_path.size() > 1 || !c.data_args_path.empty() ||
         !c.per_split_data_args_path.empty();
}

}  // namespace

// A delayed scale is valid for one format and margin only. If the history's length changes, it starts empty.
static void check_delayed(const Options& flags, const Options& stored, const std::set<std::string>& told) {
  const QuantizeConfig &now = flags.quantize, &then = stored.quantize;
  if (!told.contains("fp8_format") || !now.is_delayed() || !then.is_delayed()) return;
  if (now.amax_history_len != then.amax_history_len) return;
  check(
      now.format == then.format && now.margin == then.margin,
      "the checkpoint has scales of --fp8-recipe delayed for another --fp8-format or --fp8-margin (there {}): give the "
      "same, or --fp8-recipe tensorwise",
      then.margin);
}

std::string changed_settings(const Options& flags, const Options& stored, const std::set<std::string>& told) {
  check_delayed(flags, stored, told);
  std::vector<std::string> watched = {"global_batch_size",
                                      "micro_batch_size",
                                      "bf16",
                                      "fp16",
                                      "loss_scale",
                                      "min_loss_scale",
                                      "loss_scale_window",
                                      "hysteresis",
                                      "exp_avg_dtype",
                                      "exp_avg_sq_dtype",
                                      "main_grads_dtype",
                                      "fp8_format",
                                      "fp8_recipe",
                                      "fp8_margin",
                                      "fp8_amax_history_len",
                                      "fp8_amax_compute_algo",
                                      "fp8_wgrad",
                                      "fp8_head",
                                      "fp4_format",
                                      "fp4_recipe",
                                      "first_last_layers_bf16",
                                      "num_layers_at_start_in_bf16",
                                      "num_layers_at_end_in_bf16",
                                      "attention_dropout",
                                      "hidden_dropout",
                                      "valid_data_path",
                                      "test_data_path",
                                      "eod_mask_loss",
                                      "tokenizer_type",
                                      "reset_position_ids",
                                      "reset_attention_mask",
                                      "clip_grad",
                                      "fim_data",
                                      "fim_rate",
                                      "fim_spm_rate",
                                      "fim_split_sample",
                                      "fim_fragment_rate",
                                      "fim_no_prefix",
                                      "rampup_batch_size",
                                      "step_batch_size_schedule",
                                      "decrease_batch_size_if_needed"};
  OptimizerConfig optimizer = flags.optimizer;
  for (i64 i = 0; i < optimizer.all.size(); ++i) {
    const config::FieldList fields = config::fields_of(optimizer.all.at(i));
    for (const config::Field& field : fields.all()) watched.push_back(field.key());
  }
  return changed_fields(flags, stored, told, watched);
}

static bool reads_on(const Options& flags, const RunState& start) {
  return start.consumed_samples > 0 && start.iteration < train_iters(flags, start);
}

static std::string continues_at(i64 sample) {
  return fmt::format("the run continues at sample {}, so samples may be repeated or skipped", sample);
}

std::string changed_samples(const Options& flags, const Options& stored, const std::set<std::string>& told,
                            const RunState& start) {
  std::vector<std::string> order_by = {"data_path",
                                       "train_data_path",
                                       "data_args_path",
                                       "per_split_data_args_path",
                                       "mock_data",
                                       "split",
                                       "seq_length",
                                       "data_sharding",
                                       "seed",
                                       "dataloader_type",
                                       "data_order_file",
                                       "sft",
                                       "sft_packing",
                                       "sft_too_long",
                                       "sft_tokenizer_prompt_format",
                                       "sft_date",
                                       "sft_skip_bad_lines"};
  if (may_blend(flags.data)) order_by.push_back("mid_level_dataset_surplus");
  std::string what = changed_fields(flags, stored, told, order_by);
  const i64 at_once[] = {samples_at_once(stored), samples_at_once(flags)};
  const bool knows_ranks = told.contains("tensor_model_parallel_size");
  if (knows_ranks && flags.data.dataloader_type == SamplerType::cyclic && at_once[0] != at_once[1])
    what += fmt::format("{}samples of all ranks in a micro-batch {} -> {}", what.empty() ? "" : ", ", at_once[0],
                        at_once[1]);
  if (what.empty() || !reads_on(flags, start)) return {};
  return fmt::format("the order of training samples differs from the saved run's ({}); {}", what,
                     continues_at(start.consumed_samples));
}

std::string changed_epochs(const Options& flags, const Options& stored, const std::set<std::string>& told,
                           const RunState& start, const Dataset& train) {
  if (!told.contains("global_batch_size") || !reads_on(flags, start)) return {};
  const i64 then = *sample_counts(run_length(stored, start)).train,
            now = *sample_counts(run_length(flags, start)).train;
  if (then == now || train.keeps_order(then)) return {};
  return fmt::format(
      "the saved run had {} training samples, this one has {}: with another number of epochs their order differs; {}",
      then, now, continues_at(start.consumed_samples));
}

std::string layout_text(const ParallelConfig& p) {
  return fmt::format("tp {}, pp {}, cp {}, dp {}", p.tensor_model_parallel_size, p.stages(), p.context_parallel_size,
                     p.data_parallel_size());
}

std::string loaded_line(const std::string& dir, const ParallelConfig& p, i64 iteration) {
  return fmt::format("  successfully loaded checkpoint from {} [ t 1/{}, p 1/{} ] at iteration {}", dir,
                     p.tensor_model_parallel_size, p.stages(), iteration);
}

}  // namespace megalith
