// Parses command lines for the tests of options.
#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "settings/options.h"

namespace megalith {

inline const char* const kSmallRun =
    "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --micro-batch-size 2 --train-iters 10 "
    "--lr 1e-3 "
    "--mock-data ";

inline Options read_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words{"pretrain-gpt"};
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return read_options(int(argv.size()), argv.data());
}

// The same steps as parse_options.
inline Options options_of(const std::string& line) {
  Options options = read_line(line);
  finish_options(options);
  return options;
}

inline std::string refusal_of(const std::string& line) {
  try {
    options_of(line);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace megalith
