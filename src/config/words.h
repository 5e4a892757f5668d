// The words of a command line as settings.
#pragma once
#include <span>
#include <string>

#include "config/parse.h"

namespace megalith::config {

// `config_file` becomes the value of --config.
Source read_words(const FlagIndex& index, std::span<const std::string> words, std::string& config_file);

}  // namespace megalith::config
