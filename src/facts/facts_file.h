// A device's facts as a YAML file: docs/planning.md describes its keys.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "facts/device_facts.h"

namespace megalith {

// `where` names the text in messages. Error, one line, on an unknown or missing key, and on a value that cannot be.
DeviceFacts parse_facts(const std::string& text, const std::string& where);
std::string print_facts(const DeviceFacts& facts);

// A file that the program brings along, by its name ("h100") or the whole of it ("h100-sxm"), or a path to one.
DeviceFacts find_facts(const std::string& name_or_path);
bool names_facts(const std::string& name_or_path);
// Those that the program brings along of a device that its driver calls so.
std::optional<DeviceFacts> facts_of_device(const std::string& device);
std::vector<std::string> names_of_facts();  // of those it brings along

// The texts of those, by name; made by the build from share/megalith/hardware.
struct NamedText {
  std::string_view name, text;
};
std::vector<NamedText> texts_of_facts();

}  // namespace megalith
