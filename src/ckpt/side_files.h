// What lies beside a model's weights: the tokenizer's files and how to generate, by the names that Hugging Face gives
// them.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace megalith {

struct SideFiles {
  std::map<std::string, std::filesystem::path> copied{};  // name there -> where it lies now
  std::map<std::string, std::string> made{};              // name there -> text

  bool has(const std::string& name) const { return copied.contains(name) || made.contains(name); }
};

// Whether any file of a tokenizer, or that goes with one, is there.
bool has_tokenizer_files(const std::string& dir);

// Those in the directories, of which the first that has a file counts; else where a run was told them by flags, which
// are its options as JSON.
SideFiles find_side_files(const std::vector<std::string>& dirs, const std::string& run_options);

// Each whole and on the disk, or not at all; in the place of what a conversion that did not come to its end has left.
void place_side_files(const SideFiles& files, const std::string& dir);

}  // namespace megalith
