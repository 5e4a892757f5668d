// Finds a device's facts: the program's own by name, or a file.
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "facts/facts_file.h"

namespace megalith {

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  check(bool(in), "hardware file {}: can't be opened: check the path", path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool is_path(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

// "h100" is the first whose name begins with "h100-".
std::vector<NamedText> ours(const std::string& name) {
  std::vector<NamedText> out;
  for (const NamedText& t : texts_of_facts())
    if (t.name == name || t.name.starts_with(name + "-")) out.push_back(t);
  return out;
}

}  // namespace

std::vector<std::string> names_of_facts() {
  std::vector<std::string> names;
  for (const NamedText& t : texts_of_facts()) names.emplace_back(t.name);
  return names;
}

bool names_facts(const std::string& name) { return is_path(name) || !ours(name).empty(); }

DeviceFacts find_facts(const std::string& name, int depth) {
  if (is_path(name)) return parse_facts(read_file(name), name, depth);
  const std::vector<NamedText> found = ours(name);
  check(!found.empty(), "device {}: there are facts of {}: name one of them, or a file of facts (*.yaml)", name,
        fmt::join(names_of_facts(), ", "));
  return parse_facts(std::string(found[0].text), std::string(found[0].name), depth);
}

std::optional<DeviceFacts> facts_of_device(const std::string& device) {
  for (const NamedText& t : texts_of_facts())
    if (t.text.find(fmt::format("device: \"{}\"", device)) != t.text.npos)
      return parse_facts(std::string(t.text), std::string(t.name));
  return {};
}

}  // namespace megalith
