// Small datasets with known content, and checks of their text.
#pragma once
#include "data/loader.h"
#include "tests/data/data_test_util.h"

namespace megalith {

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline const std::vector<i64> kLengths = {5, 9, 3, 12, 1, 7, 20, 4, 6, 2, 11, 8};

// A config of one prefix with the documents of kLengths.
inline DataConfig config_in(const TempDir& dir) {
  write_rule_files(dir / "a", kLengths);
  return {.data_path = {dir / "a"}, .split = "100,0,0", .seq_length = 8, .vocab_size = 5000, .eod = 4999};
}

// The datasets of gpt_blend_full.json; returns their prefixes.
inline std::vector<std::string> write_blend_files(const TempDir& dir, const Json& v) {
  std::vector<std::string> prefixes;
  for (const Json& name : v["blend"]) {
    prefixes.push_back(dir / name.get<std::string>());
    write_rule_files(prefixes.back(), v["documents"][name.get<std::string>()].get<std::vector<i64>>());
  }
  return prefixes;
}

}  // namespace megalith
