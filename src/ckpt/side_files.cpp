#include "ckpt/side_files.h"

#include <algorithm>

#include "base/check.h"
#include "base/one_line.h"
#include "base/parse_json.h"
#include "base/read_error.h"
#include "ckpt/tensors/files.h"

namespace megalith {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kAssets[] = {"tokenizer.json",
                                   "tokenizer_config.json",
                                   "special_tokens_map.json",
                                   "tokenizer.model",
                                   "vocab.json",
                                   "merges.txt",
                                   "vocab.txt",
                                   "added_tokens.json",
                                   "spiece.model",
                                   "chat_template.jinja",
                                   "generation_config.json"};

bool has_tokenizer_files(const std::string& dir) {
  return std::ranges::any_of(kAssets, [&](const char* name) { return file_exists(dir + "/" + name); });
}

SideFiles find_side_files(const std::vector<std::string>& dirs, const std::string& run_options) {
  SideFiles files;
  const auto add = [&](const fs::path& file, const std::string& name) {
    std::error_code error;
    if (fs::is_regular_file(file, error)) files.copied.emplace(name, file);
  };
  const auto add_all = [&](const fs::path& source) {
    for (const char* name : kAssets) add(source / name, name);
  };
  for (const std::string& source : dirs) add_all(source);
  const auto config = parse_json<ordered_json>(run_options);
  const auto text_of = [&](const char* key) {
    return config.is_object() && config.contains(key) && config[key].is_string() ? config[key].get<std::string>() : "";
  };
  const std::string model = text_of("tokenizer_model");
  const bool words = text_of("tokenizer_type").starts_with("BertWordPiece");
  add(text_of("vocab_file"), words ? "vocab.txt" : "vocab.json");
  add(text_of("merge_file"), "merges.txt");
  if (model.ends_with(".json")) add(model, "tokenizer.json");
  if (model.ends_with(".model")) add(model, "tokenizer.model");
  if (fs::is_directory(model)) add_all(model);
  return files;
}

void place_side_files(const SideFiles& files, const std::string& dir) {
  for (const auto& [name, from] : files.copied) {
    const std::string to = dir + "/" + name;
    std::error_code error;
    if (files.made.contains(name) || fs::equivalent(from, to, error)) continue;
    try {
      replace_text(to, read_text(from.string()), {});
    } catch (const std::exception& e) {
      fail("{} could not be copied to {}: {}", from.string(), to, one_line(e));
    }
  }
  for (const auto& [name, text] : files.made) replace_text(dir + "/" + name, text, {});
}

}  // namespace megalith
