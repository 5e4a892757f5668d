#include "cli/foreign/nemo.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/foreign/flag_words.h"
#include "cli/foreign/nemo_data.h"
#include "cli/foreign/nemo_flags.h"
#include "cli/foreign/nemo_keys.h"
#include "cli/foreign/nemo_training.h"
#include "settings/megatron_flags.h"
#include "settings/options.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

// The words by kind: settings, the YAML file that they change, flags of ours.
struct Parts {
  std::vector<std::string> settings, own;
  std::string config_dir, config_name;
};

bool is_plain_setting(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         word.substr(0, equals).find_first_not_of(
             "+~_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.") == std::string_view::npos;
}

Parts parts_of(const std::vector<std::string>& words) {
  Parts parts;
  bool after_setting = true;  // a word a=b is a setting too, unless it may be a flag's value
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string flag = words[i].substr(0, words[i].find('='));
    if (is_among(flag, "--config-path --config-name --config-dir -cp -cn -cd")) {
      const bool attached = flag.size() < words[i].size();
      std::string& to = is_among(flag, "--config-name -cn") ? parts.config_name : parts.config_dir;
      to = attached ? words[i].substr(flag.size() + 1) : i + 1 < words.size() ? words[++i] : "";
    } else if (NemoValues::is_setting(words[i]) || (after_setting && is_plain_setting(words[i]))) {
      parts.settings.push_back(words[i]);
      after_setting = true;
      continue;
    } else {
      parts.own.push_back(words[i]);
    }
    after_setting = false;
  }
  return parts;
}

bool is_false(const NemoValue& v) { return is_among(v.text(), "False false 0 0.0 no"); }
bool is_true(const NemoValue& v) { return is_among(v.text(), "True true yes"); }

class Nemo {
 public:
  Nemo(std::string_view script, Parts parts) : script_(script), parts_(std::move(parts)) {
    for (const std::string& word : parts_.settings) {
      const std::size_t begin = word.find_first_not_of("+~");
      const std::string_view key = std::string_view(word).substr(begin, word.find('=') - begin);
      bridge_ =
          bridge_ || is_among(key.substr(0, key.find('.')), "train checkpoint optimizer scheduler dataset logger ddp");
      fine_tuning_ = fine_tuning_ || key.starts_with("model.data.train_ds");
    }
    for (const std::string_view name : {script_, std::string_view(parts_.config_name)})
      fine_tuning_ =
          fine_tuning_ || name.find("sft") != std::string_view::npos || name.find("finetun") != std::string_view::npos;
  }

  Translation translate() {
    read_values();
    take_nemo_training(values_, flags_);
    take_nemo_shape(values_, flags_);
    take_nemo_save(values_, fine_tuning_, flags_);
    take_nemo_tokenizer(values_, knows_vocabulary(), flags_);
    if (!bridge_) take_nemo_data(values_, fine_tuning_, flags_);
    config::FieldList fields = config::fields_of(options_);
    const config::FlagIndex index(fields, megatron_flags());
    for (const auto& [key, value] : values_.all())
      if (!is_nemo_training_key(key) && !is_nemo_data_key(key) && !value.items.empty()) take(key, value, index);
    if (!bridge_) look_for_unset();
    tell_ranks();
    Translation t =
        flags_.take(bridge_ ? "a command line with settings of Megatron Bridge" : "a command line of NeMo", parts_.own);
    t.notes.insert(t.notes.end(), notes_.begin(), notes_.end());
    return t;
  }

 private:
  bool knows_vocabulary() const {
    const auto is_vocabulary = [](const std::string& word) {
      return is_among(word.substr(0, word.find('=')), "--tokenizer-type --tokenizer-model --vocab-size --vocab-file");
    };
    return fine_tuning_ || values_.find("model.restore_from_path") || values_.find("model.resume_from_checkpoint") ||
           std::ranges::any_of(parts_.own, is_vocabulary);
  }

  // NeMo's defaults, overridden by the YAML file, overridden by the words.
  void read_values() {
    NemoValues words;
    for (const std::string& word : parts_.settings) words.add_word(word);
    const bool loads = words.find("model.restore_from_path") || words.find("model.resume_from_checkpoint");
    if (!bridge_) values_.add_defaults(nemo_defaults(fine_tuning_, loads));
    if (!parts_.config_name.empty() || !parts_.config_dir.empty()) {
      std::string file = (fs::path(parts_.config_dir) / parts_.config_name).string();
      if (!file.ends_with(".yaml") && !file.ends_with(".yml")) file += ".yaml";
      std::error_code error;
      if (fs::is_regular_file(file, error))
        values_.add_file(file);
      else
        notes_.push_back(fmt::format("{} does not exist: missing settings have the values of NeMo's own file", file));
    } else if (!bridge_) {
      notes_.push_back("missing settings have the values of NeMo's own file");
    }
    for (const std::string& word : parts_.settings) values_.add_word(word);
    values_.resolve();
  }

  void take(const std::string& key, const NemoValue& value, const config::FlagIndex& index) {
    if (const char* why = why_key_is_refused(key)) {
      if (!is_false(value)) flags_.refuse(why, key, value);
      return;
    }
    if (const char* flag = flag_of_false(key)) {
      if (is_false(value)) flags_.put(flag, {}, value.by_user());
      return;
    }
    if (const char* flag = flag_of_key(key)) return take_as(flag, key, value, index);
    if (const char* why = why_key_is_idle(key)) return flags_.idle(why, value);
    std::string flag = "--" + key.substr(key.rfind('.') + 1);
    std::ranges::replace(flag, '_', '-');
    take_as(flag, key, value, index);
  }

  // By the kind of flag: a switch, a flag with a value, or another program's known flag.
  void take_as(const std::string& flag, const std::string& key, const NemoValue& value,
               const config::FlagIndex& index) {
    config::FlagIndex::Entry entry;
    try {
      entry = index.find(flag, flag);
    } catch (const Error&) {
      if (!is_false(value)) flags_.refuse("not known here", key, value);
      return;
    }
    if (entry.other && entry.other->accepted) return flags_.idle(entry.other->why, value);
    if (entry.other) {
      if (!is_false(value)) flags_.refuse(entry.other->why, key, value);
    } else if (!entry.spelling->constant) {
      flags_.put(flag, value.items, value.by_user());
    } else if (is_true(value)) {
      flags_.put(flag, {}, value.by_user());
    }
  }

  void tell_ranks() {
    i64 ranks = 1;
    for (const char* flag :
         {"--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--context-parallel-size"})
      ranks *= std::max(1, std::atoi(flags_.value(flag).c_str()));
    if (ranks > 1) notes_.push_back(fmt::format("start it by the same launcher, as a multiple of {} ranks", ranks));
  }

  void look_for_unset() {
    for (const auto& [key, value] : values_.all())
      if (value.items.empty() && value.written.ends_with('='))
        flags_.wrong(fmt::format("{} is empty: is a variable of the script not set?", value.written));
  }

  std::string_view script_;
  Parts parts_;
  bool bridge_ = false, fine_tuning_ = false;
  NemoValues values_;
  NemoFlags flags_;
  std::vector<std::string> notes_;
  Options options_;
};

}  // namespace

std::optional<Translation> translate_nemo(std::string_view script, const std::vector<std::string>& words) {
  const auto is_hydra = [](const std::string& w) {
    return NemoValues::is_setting(w) || is_among(w.substr(0, w.find('=')), "--config-path --config-name -cn -cp");
  };
  if (std::ranges::none_of(words, is_hydra)) return std::nullopt;
  return Nemo(script, parts_of(words)).translate();
}

}  // namespace megalith
