// Reads and writes a device's facts as YAML; docs/planning.md describes the keys.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "facts/device_facts.h"

namespace megalith {

// `where`: name of the text, for messages. depth: the number of files that led here by `like`. Error, one line, on an
// unknown or missing key, and on an invalid value.
DeviceFacts parse_facts(const std::string& text, const std::string& where, int depth = 0);
std::string print_facts(const DeviceFacts& facts);

// Reads a built-in file, by short name ("h100") or full name ("h100-sxm"), or a file by path.
DeviceFacts find_facts(const std::string& name_or_path, int depth = 0);
bool names_facts(const std::string& name_or_path);
// The built-in facts of a device with this driver name.
std::optional<DeviceFacts> facts_of_device(const std::string& device);
std::vector<std::string> names_of_facts();  // names of the built-in files

// The texts of the built-in files, by name. The build generates them from share/megalith/hardware.
struct NamedText {
  std::string_view name, text;
};
std::vector<NamedText> texts_of_facts();

}  // namespace megalith
