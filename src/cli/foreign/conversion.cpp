#include "cli/foreign/conversion.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "base/check.h"
#include "ckpt/convert.h"
#include "ckpt/hf/hf_config.h"
#include "cli/foreign/conversion_flags.h"
#include "cli/foreign/flag_words.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

bool is_megatron(std::string_view plugin) {
  return is_among(plugin, "core mcore megatron megatron-lm megatron_lm mlm torch_dist torch mcore_gpt core_gpt");
}

bool is_hf(std::string_view plugin) {
  return is_among(plugin, "hf huggingface hugging_face hugging-face transformers llama_mistral llama2 llama3 llama") ||
         plugin.ends_with("_hf") || plugin.starts_with("hf_");
}

std::string dtype_of(std::string_view text) {
  if (is_among(text, "bfloat16 bf16 torch.bfloat16")) return "bf16";
  if (is_among(text, "float16 fp16 f16 half torch.float16")) return "f16";
  if (is_among(text, "float32 fp32 f32 float torch.float32")) return "f32";
  return {};
}

class ForeignConversion {
 public:
  explicit ForeignConversion(FlagWords words) : words_(std::move(words)) {}

  // Empty if all words are ours.
  std::optional<Translation> translate() {
    take_bare();
    for (const FlagWords::Flag& flag : words_.flags) take(flag);
    if (!foreign_) return std::nullopt;
    choose_directories();
    choose_format();
    choose_tokenizer();
    return write();
  }

 private:
  // `import` and `export`, or `megatron_path=... hf_path=...` as in pipeline steps.
  void take_bare() {
    for (const std::string& word : words_.bare) {
      const std::size_t equals = word.find('=');
      if (is_among(word, "import export")) {
        verb_ = word, foreign_ = bridge_ = true;
      } else if (equals != std::string::npos && equals > 0) {
        words_.flags.push_back(read_flag_words({"--" + word}).flags[0]);
        words_.flags.back().written = word.substr(0, equals);
      } else {
        wrong_.push_back(fmt::format("'{}' is not a flag: want a flag there", word));
      }
    }
  }

  void take(const FlagWords::Flag& flag) {
    const FlagRole role = role_of(flag.name);
    const bool known = role != FlagRole::other || why_without_effect(flag.name);  // else misspelt, perhaps one of ours
    foreign_ = foreign_ || (known && !is_own_conversion_flag(flag.name));
    bridge_ = bridge_ || is_among(flag.name, "--source --target --input-path --output-path --hf-path") ||
              role == FlagRole::hf_model;
    switch (role) {
      case FlagRole::load:
        load_ = value_of(flag);
        break;
      case FlagRole::save:
        save_ = value_of(flag);
        break;
      case FlagRole::hf_model:
        hf_model_ = value_of(flag);
        break;
      case FlagRole::megatron_path:
        megatron_path_ = value_of(flag);
        break;
      case FlagRole::hf_path:
        hf_path_ = value_of(flag);
        break;
      case FlagRole::reader:
        reader_ = value_of(flag), reader_flag_ = flag.written;
        break;
      case FlagRole::writer:
        writer_ = value_of(flag), writer_flag_ = flag.written;
        break;
      case FlagRole::to:
        to_ = value_of(flag);
        break;
      case FlagRole::bf16:
        dtype_ = "bf16";
        break;
      case FlagRole::fp16:
        dtype_ = "f16";
        break;
      case FlagRole::dtype:
        take_dtype(flag);
        break;
      case FlagRole::tokenizer:
        tokenizer_ = value_of(flag), tokenizer_flag_ = flag.written;
        break;
      case FlagRole::vocab_size:
        keep("--vocab-size", {value_of(flag)});
        break;
      case FlagRole::model_type:
        take_model_type(value_of(flag));
        break;
      case FlagRole::checkpoint_type:
        take_checkpoint_type(value_of(flag));
        break;
      case FlagRole::ours:
        keep(flag.name, flag.values);
        break;
      case FlagRole::other:
        take_other(flag);
        break;
    }
  }

  void keep(const std::string& flag, const std::vector<std::string>& values) {
    kept_.push_back(flag);
    kept_.insert(kept_.end(), values.begin(), values.end());
  }

  void take_dtype(const FlagWords::Flag& flag) {
    const std::string value = value_of(flag);
    dtype_ = dtype_of(value);
    if (dtype_.empty() && !value.empty() && value != "auto")
      wrong_.push_back(fmt::format("{} {}: want float32, bfloat16 or float16", flag.written, value));
  }

  void take_model_type(const std::string& type) {
    if (!type.empty() && !is_among(type, "GPT gpt Llama llama LLaMA"))
      wrong_.push_back(
          fmt::format("--model-type {} is not built yet: GPT is (GPT-2, Llama, Qwen and their like)", type));
  }

  void take_checkpoint_type(const std::string& type) {
    if (!type.empty() && !is_hf(type) && !is_megatron(type))
      wrong_.push_back(
          fmt::format("--checkpoint-type {}: consolidated.*.pth files are not read: give the Hugging Face directory of "
                      "the same model",
                      type));
  }

  void take_other(const FlagWords::Flag& flag) {
    if (const char* why = why_without_effect(flag.name))
      idle_[why].push_back(flag.written);
    else
      wrong_.push_back(fmt::format("{} is not supported", flag.written));
  }

  std::string value_of(const FlagWords::Flag& flag) {
    if (flag.values.size() == 1 && !flag.values[0].empty()) return flag.values[0];
    if (flag.values.size() <= 1)
      wrong_.push_back(fmt::format("{} has no value: is a variable of the script not set?", flag.written));
    else
      wrong_.push_back(fmt::format("{} takes one value, {} are given", flag.written, flag.values.size()));
    return flag.values.empty() ? "" : flag.values[0];
  }

  // Bridge's examples name each directory by its format; the verb says which one is read.
  void choose_directories() {
    if (hf_model_.empty() && hf_path_.empty() && verb_.empty()) {  // convert.py: the path of Megatron's repository
      if (!megatron_path_.empty()) idle_[why_without_effect("--megatron-path")].push_back("--megatron-path");
      return;
    }
    const bool out = verb_ == "export" || (verb_.empty() && !hf_path_.empty());
    const std::string &read = out ? megatron_path_ : hf_model_, &written = out ? hf_path_ : megatron_path_;
    if (load_.empty()) load_ = read;
    if (save_.empty()) save_ = written;
    if (out) reference_ = hf_model_;
    if (to_.empty() && writer_.empty()) to_ = out ? "hf" : "torch_dist";
  }

  void choose_format() {
    if (reader_ == "mixtral_hf" || writer_ == "mixtral_hf")
      wrong_.push_back("Megatron's files of experts are not built yet: convert to native, with --to native");
    if (reader_ == "nemo" || load_.ends_with(".nemo"))
      wrong_.push_back("NeMo's .nemo archives are not read: give the Hugging Face directory of the same model");
    if (reader_.find("llava") != std::string::npos || writer_.find("llava") != std::string::npos)
      wrong_.push_back("models of images are not built");
    const bool reads = reader_.empty() || is_megatron(reader_) || is_hf(reader_) ||
                       is_among(reader_, "legacy native nemo") || reader_.find("llava") != std::string::npos;
    if (!reads)
      wrong_.push_back(
          fmt::format("{} {} is not supported: leave it out, the format is found by the files", reader_flag_, reader_));
    const bool writes = writer_.empty() || is_megatron(writer_) || is_hf(writer_) || writer_ == "native";
    if (!writes)
      wrong_.push_back(
          fmt::format("{} {} is not supported: --to torch_dist writes what Megatron-LM reads, --to hf a Hugging Face "
                      "directory",
                      writer_flag_, writer_));
    if (!to_.empty()) return;
    to_ = writer_.empty() || is_megatron(writer_) ? "torch_dist" : writer_ == "native" ? "native" : "hf";
    if (to_ == "torch_dist" && is_megatron(reader_))
      notes_.push_back("for another layout no conversion is needed: training loads what is read here under any");
  }

  void choose_tokenizer() {
    std::error_code error;
    if (!reference_.empty()) take_reference();
    if (tokenizer_.empty()) return;
    const fs::path parent = fs::path(tokenizer_).parent_path();
    const std::string dir = fs::is_directory(tokenizer_, error) ? tokenizer_ : parent.empty() ? "." : parent.string();
    if (tokenizer_flag_ == "--tokenizer-dir")
      tokenizer_dir_ = tokenizer_;
    else if (fs::exists(tokenizer_, error) && has_tokenizer_files(dir))
      tokenizer_dir_ = dir == load_ ? "" : dir;
    else
      notes_.push_back(
          fmt::format("{} {} has no effect: a tokenizer's files are copied from what is read, or from where its run's "
                      "flags say",
                      tokenizer_flag_, tokenizer_));
  }

  // The model whose format the export copies.
  void take_reference() {
    std::error_code error;
    if (!fs::is_directory(reference_, error) || !is_hf_directory(reference_)) {
      notes_.push_back(
          fmt::format("{} is not on this machine: architecture and tokenizer are the checkpoint's own", reference_));
      return;
    }
    if (has_tokenizer_files(reference_)) tokenizer_dir_ = reference_;
    try {
      family_ = std::string(read_hf_config(reference_).family->name);
    } catch (const Error& e) {
      wrong_.push_back(e.what());
    }
  }

  Translation write() {
    Translation t{.whose = bridge_ ? "a command of Megatron Bridge" : "a command of Megatron's convert.py",
                  .command = "convert",
                  .words = {},
                  .notes = notes_,
                  .wrong = wrong_};
    if (load_.empty()) t.wrong.push_back("what to read is not given"), load_ = "LOAD_DIR";
    if (save_.empty()) t.wrong.push_back("where to write is not given"), save_ = "SAVE_DIR";
    t.words = {"--load", load_, "--to", to_, "--save", save_};
    const auto add = [&](const char* flag, const std::string& value) {
      if (!value.empty()) t.words.insert(t.words.end(), {flag, value});
    };
    add("--dtype", dtype_), add("--family", family_), add("--tokenizer-dir", tokenizer_dir_);
    t.words.insert(t.words.end(), kept_.begin(), kept_.end());
    for (const auto& [why, flags] : idle_)
      t.notes.push_back(
          fmt::format("{} {} no effect: {}", fmt::join(flags, ", "), flags.size() > 1 ? "have" : "has", why));
    return t;
  }

  FlagWords words_;
  bool foreign_ = false, bridge_ = false;
  std::string verb_, load_, save_, hf_model_, megatron_path_, hf_path_, reader_, reader_flag_, writer_, writer_flag_,
      to_, dtype_;
  std::string tokenizer_, tokenizer_flag_, tokenizer_dir_, reference_, family_;
  std::vector<std::string> kept_, notes_, wrong_;
  std::map<std::string, std::vector<std::string>> idle_;  // flags without effect, by the reason
};

}  // namespace

std::optional<Translation> translate_conversion(const std::vector<std::string>& words) {
  return ForeignConversion(read_flag_words(words)).translate();
}

}  // namespace megalith
