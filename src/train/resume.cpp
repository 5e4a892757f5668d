#include "train/resume.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ckpt/hf_config.h"
#include "train/schedules.h"

namespace megalith {

using nlohmann::json;

namespace {

struct Row {
  std::string name, expected, found;
};

std::string table(const std::vector<Row>& rows) {
  size_t name = 7, expected = 8;
  for (const Row& r : rows) name = std::max(name, r.name.size()), expected = std::max(expected, r.expected.size());
  std::string text = fmt::format("\n  {:<{}}  {:<{}}  found", "setting", name, "expected", expected);
  for (const Row& r : rows) text += fmt::format("\n  {:<{}}  {:<{}}  {}", r.name, name, r.expected, expected, r.found);
  return text;
}

constexpr const char* kLrStyles[] = {"constant", "linear", "cosine", "inverse-square-root", "WSD"};
constexpr const char* kWsdStyles[] = {"exponential", "linear", "cosine", "minus_sqrt"};
constexpr const char* kWdStyles[] = {"constant", "linear", "cosine"};

template <class E, size_t N>
E style_of(const json& j, const char* const (&names)[N]) {
  const auto it = std::find(std::begin(names), std::end(names), j.get<std::string>());
  check(it != std::end(names), "style '{}' is unknown", j.get<std::string>());
  return E(it - std::begin(names));
}

}  // namespace

void check_same_model(const ModelConfig& flags, const ModelConfig& stored, const std::string& where) {
  const auto expected = describe(flags), found = describe(stored);
  std::vector<Row> rows;
  const auto value = [](const auto& list, const std::string& name) {
    for (const auto& [key, text] : list)
      if (key == name) return text;
    return std::string("-");
  };
  for (const auto& [name, text] : expected)
    if (value(found, name) != text) rows.push_back({name, text, value(found, name)});
  for (const auto& [name, text] : found)
    if (value(expected, name) == "-") rows.push_back({name, "-", text});
  check(rows.empty(),
        "{} holds another model than the flags describe: change the flags, or leave those of the model out{}", where,
        table(rows));
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
    s.lr.style = style_of<LrDecay>(j.at("lr_decay_style"), kLrStyles);
    s.lr.max_lr = j.at("lr"), s.lr.min_lr = j.at("min_lr");
    s.lr.decay_samples = j.at("lr_decay_samples");
    s.lr.warmup_samples = j.at("lr_warmup_samples"), s.lr.warmup_init = j.at("lr_warmup_init");
    s.weight_decay.style = style_of<WdIncrease>(j.at("weight_decay_incr_style"), kWdStyles);
    s.weight_decay.start = j.at("start_weight_decay"), s.weight_decay.end = j.at("end_weight_decay");
    if (s.lr.style == LrDecay::wsd) {
      s.lr.wsd_style = style_of<WsdDecay>(j.at("lr_wsd_decay_style"), kWsdStyles);
      s.lr.wsd_decay_samples = j.at("lr_wsd_decay_samples");
    }
    if (s.weight_decay.style != WdIncrease::constant) s.weight_decay.total_samples = j.at("weight_decay_samples");
    return s;
  } catch (const std::exception& e) {
    fail("{}: its schedule cannot be read: {}", where, e.what());
  }
}

Schedules choose_schedules(const Options& flags, const json& stored, const std::string& where) {
  const Schedules ours = make_schedules(flags);
  if (flags.optimizer.override_opt_param_scheduler) return ours;
  const Schedules theirs = schedules_from_json(stored, where);
  if (flags.optimizer.use_checkpoint_opt_param_scheduler) return theirs;
  const json expected = schedules_to_json(ours), found = schedules_to_json(theirs);
  std::vector<Row> rows;
  const auto text = [](const json& j, const std::string& key) { return j.contains(key) ? j[key].dump() : "-"; };
  for (const auto& [key, value] : expected.items())
    if (text(found, key) != value.dump()) rows.push_back({key, value.dump(), text(found, key)});
  for (const auto& [key, value] : found.items())
    if (!expected.contains(key)) rows.push_back({key, "-", value.dump()});
  check(rows.empty(),
        "{} was saved with another schedule than the flags give: --override-opt-param-scheduler follows the flags, "
        "--use-checkpoint-opt-param-scheduler the checkpoint{}",
        where, table(rows));
  return ours;
}

std::string changed_settings(Options flags, Options stored) {
  constexpr const char* kWatched[] = {"seed",
                                      "global_batch_size",
                                      "micro_batch_size",
                                      "bf16",
                                      "seq_length",
                                      "attention_dropout",
                                      "hidden_dropout",
                                      "data_path",
                                      "train_data_path",
                                      "valid_data_path",
                                      "test_data_path",
                                      "mock_data",
                                      "split",
                                      "dataloader_type",
                                      "data_sharding",
                                      "mid_level_dataset_surplus",
                                      "reset_position_ids",
                                      "reset_attention_mask",
                                      "eod_mask_loss",
                                      "tokenizer_type",
                                      "adam_beta1",
                                      "adam_beta2",
                                      "adam_eps",
                                      "sgd_momentum",
                                      "clip_grad"};
  std::string text;
  for (const config::Difference& d : config::differences(config::fields_of(stored), config::fields_of(flags)))
    if (std::ranges::find(kWatched, d.name) != std::end(kWatched))
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", d.name, d.expected, d.found);
  return text;
}

}  // namespace megalith
