#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/file.h"

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
  Reader(const std::string& path, const FlagIndex& index, std::vector<std::string>& notes)
      : path_(path), index_(index), notes_(notes) {}

  void read_map(const YAML::Node& map) {
    for (const auto& item : map) {
      const YAML::Node &key = item.first, &value = item.second;
      const std::string place = fmt::format("{} line {}", path_, key.Mark().line + 1);
      check(key.IsScalar(), "{}: a key must be the name of a flag", place);
      if (value.IsMap()) {
        read_map(value);
      } else if (!value.IsNull()) {
        read_value(key.Scalar(), value, place);
      }
    }
  }
  std::vector<Setting> take() { return std::move(settings_); }

 private:
  void read_value(const std::string& key, const YAML::Node& value, const std::string& place) {
    std::string flag = "--" + key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    const auto entry = index_.find(flag, fmt::format("{}: unknown key '{}'", place, key));
    const std::string where = fmt::format("{}: {}", place, key);
    if (entry.other) {
      if (value.IsScalar() && value.Scalar() == "false") return;  // a switch left out
      check(entry.other->accepted, "{}: {}", where, entry.other->why);
      notes_.push_back(fmt::format("{} has no effect: {}", entry.other->flag, entry.other->why));
      return;
    }
    std::vector<std::string> values = values_of(value, where);
    if (entry.spelling->constant) {
      check(values.size() == 1, "{}: true or false is wanted", where);
      const bool on = parse_bool(values[0], where);
      if (!on && !entry.field->is_switch()) return;  // `swiglu: false` is the flag left out
      values[0] = on ? "true" : "false";
    }
    settings_.push_back({entry.field, entry.spelling, std::move(values), where});
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
  std::vector<std::string>& notes_;
  std::vector<Setting> settings_;
};

}  // namespace

std::vector<Setting> read_yaml(const std::string& path, const FlagIndex& index, std::vector<std::string>& notes) {
  YAML::Node root;
  try {
    root = YAML::Load(read_text(path));
  } catch (const YAML::Exception& error) {
    fail("{} line {}: not valid YAML: {}", path, error.mark.line + 1, error.msg);
  }
  check(root.IsNull() || root.IsMap(), "{}: a map of flags is wanted, such as `num-layers: 12`", path);
  Reader reader(path, index, notes);
  if (root.IsMap()) reader.read_map(root);
  return reader.take();
}

}  // namespace megalith::config
