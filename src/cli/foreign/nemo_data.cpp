#include "cli/foreign/nemo_data.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/foreign/flag_words.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

bool is_off(const NemoValue* v) { return !v || is_among(v->text(), "False false 0 no"); }

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The model's own template, if it has one. Otherwise Megatron's, which joins texts.
std::string template_of(const std::string& model) {
  std::error_code error;
  if (fs::exists(model + "/chat_template.jinja", error)) return "default";
  const std::string config = model + "/tokenizer_config.json";
  const bool in_config =
      fs::is_regular_file(config, error) && text_of(config).find("\"chat_template\"") != std::string::npos;
  return in_config ? "default" : "identity";
}

// Files, with the ranges of each that samples come from.
std::vector<std::string> blend(const NemoValue& files, const NemoValue* parts) {
  if (!parts || parts->items.size() != files.items.size() || files.items.size() < 2) return files.items;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < files.items.size(); ++i) out.insert(out.end(), {parts->items[i], files.items[i]});
  return out;
}

const NemoValue* files_of(const NemoValues& values, const std::string& set) {
  for (const char* name : {".file_names", ".file_path"})
    if (const NemoValue* v = values.find("model.data." + set + name)) return v;
  return nullptr;
}

void take_chats(const NemoValues& values, NemoFlags& flags) {
  const NemoValue* load = values.find("model.restore_from_path");
  flags.put("--finetune", {}, false);
  flags.put("--sft", {}, false);
  flags.put("--sft-tokenizer-prompt-format", {template_of(load ? load->text() : "")}, false);
  if (is_off(values.find("model.data.train_ds.packed_sequence"))) flags.put("--no-sft-packing", {}, false);
  if (!load && !flags.has("--load")) {
    flags.wrong(
        "model.restore_from_path is not given: MODEL_DIR is its placeholder, a checkpoint or a Hugging Face directory");
    flags.put("--load", {"MODEL_DIR"}, false);
  } else if (load && load->text().ends_with(".nemo")) {
    flags.refuse("NeMo's .nemo archives are not read: give the Hugging Face directory of the same model", "restore",
                 *load);
  }
  if (const NemoValue* files = files_of(values, "train_ds")) {
    if (files->text().ends_with(".npy"))
      flags.refuse("packed .npy files are not read: give the JSON lines that they were made from; --sft packs them",
                   "files", *files);
    flags.put("--train-data-path", blend(*files, values.find("model.data.train_ds.concat_sampling_probabilities")),
              true);
  } else {
    flags.wrong(
        "model.data.train_ds.file_names is not given: TRAIN.jsonl is its placeholder, JSON lines with \"messages\"");
    flags.put("--train-data-path", {"TRAIN.jsonl"}, false);
  }
  if (const NemoValue* files = files_of(values, "validation_ds"))
    flags.put("--valid-data-path", files->items, true);
  else
    flags.put("--eval-iters", {"0"}, false);
  if (const NemoValue* files = files_of(values, "test_ds")) flags.put("--test-data-path", files->items, true);
}

}  // namespace

void take_nemo_data(const NemoValues& values, bool fine_tuning, NemoFlags& flags) {
  if (fine_tuning) return take_chats(values, flags);
  const NemoValue* impl = values.find("model.data.data_impl");
  if (impl && impl->text() == "mock") return flags.put("--mock-data", {}, true);
  bool any = false;
  for (const auto& [part, flag] :
       {std::pair{"", "--data-path"}, std::pair{".train", "--train-data-path"},
        std::pair{".validation", "--valid-data-path"}, std::pair{".test", "--test-data-path"}})
    if (const NemoValue* v = values.find(std::string("model.data.data_prefix") + part))
      flags.put(flag, v->items, true), any = true;
  if (any) return;
  flags.wrong("model.data.data_prefix is not given: DATA_PREFIX is its placeholder, files without .bin and .idx");
  flags.put("--data-path", {"DATA_PREFIX"}, false);
}

void take_nemo_save(const NemoValues& values, bool fine_tuning, NemoFlags& flags) {
  const NemoValue *dir = values.find("exp_manager.explicit_log_dir"), *root = values.find("exp_manager.exp_dir");
  if (!dir && !root) return;
  const NemoValue* name = values.find("exp_manager.name");
  if (!name) name = values.find("name");
  const std::string save = dir ? dir->text() : name ? (fs::path(root->text()) / name->text()).string() : root->text();
  flags.put("--save", {save}, true);
  const NemoValue* every = values.find("trainer.val_check_interval");
  const bool whole = every && every->text().find_first_not_of("0123456789") == std::string::npos;
  flags.put("--save-interval", {whole ? every->text() : "1000"}, false);  // NeMo saves when it evaluates
  const bool resumes =
      !values.find("exp_manager.resume_if_exists") || !is_off(values.find("exp_manager.resume_if_exists"));
  if (resumes && !fine_tuning && !values.find("model.restore_from_path")) flags.put("--load", {save}, false);
}

bool is_nemo_data_key(std::string_view key) {
  return is_among(
             key,
             "exp_manager.explicit_log_dir exp_manager.exp_dir model.data.data_impl model.data.data_prefix "
             "model.data.data_prefix.train "
             "model.data.data_prefix.validation model.data.data_prefix.test model.data.train_ds.file_names "
             "model.data.train_ds.file_path model.data.validation_ds.file_names model.data.validation_ds.file_path "
             "model.data.test_ds.file_names model.data.test_ds.file_path model.data.train_ds.packed_sequence "
             "model.data.train_ds.concat_sampling_probabilities") ||
         key.starts_with("model.tokenizer.");
}

}  // namespace megalith
