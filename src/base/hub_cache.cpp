#include "base/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace megalith {

namespace fs = std::filesystem;

fs::path hub_cache_folder(const std::function<const char*(const char*)>& environment) {
  const auto set = [&](const char* name) -> fs::path {
    const char* value = environment(name);
    return value ? value : "";
  };
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const fs::path own = set(name); !own.empty()) return own;
  if (const fs::path home = set("HF_HOME"); !home.empty()) return home / "hub";
  if (const fs::path caches = set("XDG_CACHE_HOME"); !caches.empty()) return caches / "huggingface" / "hub";
  const fs::path home = set("HOME");
  return home.empty() ? fs::path() : home / ".cache" / "huggingface" / "hub";
}

static bool is_word(std::string_view text) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= 96 && text[0] != '.' && text[0] != '-' && text.back() != '.' &&
         text.back() != '-' && std::ranges::all_of(text, fits);
}

// No model has such a name, so the user means a file.
static bool names_a_file(std::string_view text) {
  constexpr std::string_view kEndings[] = {".idx",   ".bin",         ".json", ".jsonl", ".txt",   ".npy",
                                           ".jinja", ".safetensors", ".pt",   ".yaml",  ".distcp"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return text.ends_with(ending); });
}

bool is_hub_name(std::string_view text) {
  if (names_a_file(text)) return false;
  const std::size_t slash = text.find('/');
  if (text.find("--") != text.npos || text.find("..") != text.npos) return false;
  return slash == text.npos ? is_word(text) : is_word(text.substr(0, slash)) && is_word(text.substr(slash + 1));
}

fs::path hub_snapshot(const fs::path& cache, std::string_view name) {
  if (cache.empty() || !is_hub_name(name)) return {};
  std::string folder = "models--" + std::string(name);
  if (const std::size_t slash = folder.find('/'); slash != folder.npos) folder.replace(slash, 1, "--");
  std::ifstream in(cache / folder / "refs" / "main");
  std::string commit;
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)); };
  if (!(in >> commit) || !std::ranges::all_of(commit, is_hex)) return {};
  const fs::path snapshot = cache / folder / "snapshots" / commit;
  std::error_code ignored;
  return fs::is_directory(snapshot, ignored) ? snapshot : fs::path();
}

}  // namespace megalith
