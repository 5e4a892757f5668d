#include "complete/hub_names.h"

#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "base/hub_cache.h"
#include "base/log.h"

namespace megalith {

namespace fs = std::filesystem;

static fs::path cache_folder() {
  return hub_cache_folder([](const char* name) -> const char* { return std::getenv(name); });
}

std::string find_on_hub(const std::string& given, const char* flag) {
  std::error_code ignored;
  if (given.empty() || !is_hub_name(given) || fs::exists(given, ignored)) return given;
  const fs::path found = hub_snapshot(cache_folder(), given);
  if (found.empty()) return given;
  log::info("{} {}: read from {}", flag, given, found.string());
  return found.string();
}

void find_tokenizer_on_hub(TokenizerConfig& t) {
  if (t.type != "HuggingFaceTokenizer" && t.type != "SFTTokenizer") return;
  const std::string name = t.tokenizer_model;
  t.tokenizer_model = find_on_hub(name, "--tokenizer-model");
  std::error_code ignored;
  if (t.tokenizer_model != name || name.empty() || fs::exists(name, ignored)) return;
  check(!is_hub_name(name),
        "--tokenizer-model {}: no file or folder here, nor in the hub's cache {}: fetch it with `hf download {} "
        "--include "
        "\"*.json\" \"*.jinja\" \"*.model\" \"*.txt\"`, or give the path of its folder",
        name, cache_folder().string(), name);
}

}  // namespace megalith
