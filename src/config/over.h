// A command line over other settings (a recipe's): values of the line or its --config file take precedence.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "config/parse.h"

namespace megalith::config {

struct Under {
  std::string name;                // begins messages: "recipe gpt2-small"
  std::vector<std::string> words;  // as on a command line, without --config
};

// parse_all() over these settings.
ParseResult parse_over(const Under& under, FieldList& fields, std::span<const std::string> arguments,
                       std::span<const OtherFlag> others = {});

// The source of each set field's value, by the field's name: "recipe gpt2-small", "run.yaml line 3", "--lr".
// Unreadable values are ignored.
std::map<std::string, std::string, std::less<>> origins(const Under& under, FieldList& fields,
                                                        std::span<const std::string> arguments,
                                                        std::span<const OtherFlag> others = {});

}  // namespace megalith::config
