// JSON as Python's json.dumps(value, indent=4) prints it: names of Megatron's cached files are digests of such texts.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace megalith {

std::string python_json(const nlohmann::ordered_json& value);

// A float as Python's repr: the shortest text that reads back as the same number, 1.0 and 1e-09.
std::string python_repr(double value);

}  // namespace megalith
