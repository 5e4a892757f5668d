// Files that come with a model's weights: the tokenizer's, and generation settings, by Hugging Face's names.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace megalith {

struct SideFiles {
  std::map<std::string, std::filesystem::path> copied{};  // name in the new directory -> current path
  std::map<std::string, std::string> made{};              // name there -> text

  bool has(const std::string& name) const { return copied.contains(name) || made.contains(name); }
};

// Whether there is any file of a tokenizer.
bool has_tokenizer_files(const std::string& dir);

// From the directories: the first that has a file counts. If none has: from a run's flags, given as JSON of its
// options.
SideFiles find_side_files(const std::vector<std::string>& dirs, const std::string& run_options);

// Each file is written completely and synced, or not at all. Replaces files of an unfinished conversion.
void place_side_files(const SideFiles& files, const std::string& dir);

}  // namespace megalith
