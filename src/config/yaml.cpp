// Reads a YAML file as the values of fields.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/file.h"
#include "config/misspelt.h"
#include "config/other_files.h"
#include "config/words.h"

namespace megalith::config {
namespace {

std::string read_text(const std::string& path) {
  check(!std::filesystem::is_directory(path), "--config {}: this is a directory; a YAML file is wanted", path);
  std::ifstream in(path);
  check(bool(in), "--config {}: cannot be opened: check the path", path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Reader {
 public:
  Reader(const std::string& path, const FlagIndex& index) : path_(path), index_(index) {}

  void read_map(const YAML::Node& map) {
    for (const auto& item : map) {
      const YAML::Node &key = item.first, &value = item.second;
      const std::string place = fmt::format("{} line {}", path_, key.Mark().line + 1);
      try {
        check(key.IsScalar(), "{}: a key must be the name of a flag", place);
        if (value.IsMap()) {
          read_map(value);
        } else if (!value.IsNull()) {
          read_value(key.Scalar(), value, place);
        }
      } catch (const Error& e) {
        source_.mistakes.push_back(e.what());
      }
    }
  }
  Source take() { return std::move(source_); }

 private:
  void read_value(const std::string& key, const YAML::Node& value, const std::string& place) {
    std::string flag = "--" + key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    const std::string where = fmt::format("{}: {}", place, key);
    if (const FlagIndex::Entry* off = index_.known("--no-" + flag.substr(2)); off && !index_.known(flag))
      return read_opposite(*off, value, where);
    const std::string meant = index_.known(flag) ? "" : misspelt_field(index_, flag);
    if (!meant.empty()) source_.unread.insert(meant);
    const auto entry = index_.find(flag, fmt::format("{}: unknown key '{}'", place, key));
    if (entry.other) return read_other(*entry.other, value, where);
    try {
      read_setting(*entry.field, *entry.spelling, value, where);
    } catch (const Error&) {
      source_.unread.insert("--" + entry.field->name);
      throw;
    }
  }

  // `x: false` if the flag is --no-x; `x: true` is the default.
  void read_opposite(const FlagIndex::Entry& off, const YAML::Node& value, const std::string& where) {
    const std::vector<std::string> values = values_of(value, where);
    check(values.size() == 1, "{}: true or false is wanted", where);
    if (!parse_bool(values[0], where) && off.other) source_.others.push_back({off.other, {}, where});
  }

  void read_setting(Field& field, const Spelling& spelling, const YAML::Node& value, const std::string& where) {
    std::vector<std::string> values = values_of(value, where);
    if (spelling.constant) {
      check(values.size() == 1, "{}: true or false is wanted", where);
      const bool on = parse_bool(values[0], where);
      if (!on && !field.is_switch()) return;  // `swiglu: false` is the flag left out
      values[0] = on ? "true" : "false";
    }
    source_.settings.push_back({&field, &spelling, std::move(values), where});
  }

  void read_other(const OtherFlag& other, const YAML::Node& value, const std::string& where) {
    if (value.IsScalar() && (value.Scalar() == "false" || value.Scalar() == "False")) return;  // a switch left out
    std::vector<std::string> values;
    if (other.takes != OtherFlag::Takes::nothing) values = values_of(value, where);
    source_.others.push_back({&other, values, where});
    if (const std::string meant = meant_field(index_, other); !meant.empty()) source_.unread.insert(meant);
    if (other.means.empty()) return;
    std::vector<std::string> words = other.means;
    words.insert(words.end(), values.begin(), values.end());
    std::string no_file;
    Source today = read_words(index_, words, no_file);
    for (Setting& setting : today.settings) setting.where = where, source_.settings.push_back(std::move(setting));
    for (const std::string& mistake : today.mistakes) source_.mistakes.push_back(fmt::format("{}: {}", where, mistake));
    source_.unread.merge(today.unread);
  }

  static std::vector<std::string> values_of(const YAML::Node& node, const std::string& where) {
    if (node.IsScalar()) return {node.Scalar()};
    std::vector<std::string> values;
    for (const YAML::Node& item : node) {
      check(item.IsScalar(), "{}: the elements of a list must be single values", where);
      values.push_back(item.Scalar());
    }
    return values;
  }

  const std::string& path_;
  const FlagIndex& index_;
  Source source_;
};

}  // namespace

Source read_yaml(const std::string& path, const FlagIndex& index) {
  YAML::Node root;
  try {
    root = YAML::Load(read_text(path));
  } catch (const YAML::Exception& error) {
    fail("{} line {}: not valid YAML: {}", path, error.mark.line + 1, error.msg);
  }
  check(root.IsNull() || root.IsMap(), "{}: give a map of flags, for example `num-layers: 12`", path);
  std::vector<std::string> keys;
  for (const auto& item : root)
    if (item.first.IsScalar()) keys.push_back(item.first.Scalar());
  const std::string other = other_file(keys);
  check(other.empty(), "--config {}: this is {}", path, other);
  Reader reader(path, index);
  if (root.IsMap()) reader.read_map(root);
  return reader.take();
}

}  // namespace megalith::config
