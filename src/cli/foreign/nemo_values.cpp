#include "cli/foreign/nemo_values.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <sstream>

#include "base/check.h"
#include "cli/foreign/flag_words.h"

namespace megalith {
namespace {

constexpr std::string_view kSections =
    "model trainer exp_manager name train checkpoint optimizer scheduler dataset logger tokenizer ddp dist "
    "mixed_precision rng validation profiling data optim log resume recipe hydra run restore_from_path";

bool is_null(std::string_view text) { return text.empty() || is_among(text, "null None none ??? ~"); }

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0])
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

// YAML's flow maps need a space after the colon, which words often lack.
std::string spaced(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == ':' && i + 1 < text.size() && (text[i + 1] == '[' || text[i + 1] == '{')) out += ' ';
  }
  return out;
}

using Set = std::function<void(const std::string&, NemoValue)>;

void flatten(const std::string& key, const YAML::Node& node, const std::string& written, const Set& set) {
  if (node.IsMap()) {
    for (const auto& item : node)
      flatten((key.empty() ? "" : key + ".") + item.first.as<std::string>(), item.second, written, set);
    return;
  }
  NemoValue value{.items = {}, .written = written};
  if (node.IsScalar() && !is_null(node.Scalar())) value.items = {node.Scalar()};
  if (node.IsSequence())
    for (const auto& item : node)
      if (item.IsScalar()) value.items.push_back(item.Scalar());
  set(key, value);
}

}  // namespace

bool NemoValues::is_setting(std::string_view word) {
  while (word.starts_with('+') || word.starts_with('~')) word.remove_prefix(1);
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals);
  const bool plain = std::ranges::all_of(
      key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '@' || c == '/'; });
  return plain && is_among(key.substr(0, key.find('.')), kSections);
}

void NemoValues::add_text(const std::string& key, const std::string& text, const std::string& written) {
  if (text.starts_with('[') || text.starts_with('{')) {
    try {
      flatten(key, YAML::Load(spaced(text)), written, [this](const std::string& k, NemoValue v) { set(k, v); });
      return;
    } catch (const YAML::Exception&) {  // then it is plain text
    }
  }
  NemoValue value{.items = {}, .written = written};
  if (const std::string plain = unquoted(text); !is_null(plain)) value.items = {plain};
  set(key, value);
}

void NemoValues::add_word(const std::string& word) {
  const std::size_t begin = word.find_first_not_of("+~"), equals = word.find('=');
  add_text(word.substr(begin, equals - begin), word.substr(equals + 1), word);
}

void NemoValues::add_defaults(const std::string& words) {
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    add_text(word.substr(0, equals), word.substr(equals + 1), "");
  }
}

void NemoValues::add_file(const std::string& path) {
  try {
    flatten("", YAML::LoadFile(path), "", [this](const std::string& k, NemoValue v) { set(k, v); });
  } catch (const YAML::Exception& e) {
    fail("{}: {}", path, e.what());
  }
}

void NemoValues::resolve() {
  for (auto& [key, value] : values_)
    for (int deep = 0; value.text().find("${") != std::string::npos; ++deep) {
      std::string name = value.text();
      const bool whole = name.starts_with("${") && name.find('}') == name.size() - 1;
      name = whole ? name.substr(2, name.size() - 3) : "";
      if (name.starts_with('.')) name = key.substr(0, key.rfind('.')) + name;
      const auto found = values_.find(name);
      value.items = found == values_.end() || deep > 8 ? std::vector<std::string>{} : found->second.items;
    }
}

const NemoValue* NemoValues::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() || found->second.items.empty() ? nullptr : &found->second;
}

}  // namespace megalith
