#include "data/not_a_dataset.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/check.h"

namespace megalith {

namespace fs = std::filesystem;

namespace {

// Prefixes of the datasets in a folder, sorted.
std::vector<std::string> datasets_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".idx")
      found.push_back((entry.path().parent_path() / entry.path().stem()).string());
  std::ranges::sort(found);
  return found;
}

// A dataset whose name starts with this prefix: users often forget the _text_document that preprocess-data appends.
std::string longer_name(const std::string& prefix) {
  const fs::path parent = fs::path(prefix).parent_path();
  for (const std::string& name : datasets_below(parent.empty() ? "." : parent.string())) {
    const std::string found = parent.empty() ? fs::path(name).filename().string() : name;
    if (found.starts_with(prefix + "_")) return found;
  }
  return {};
}

}  // namespace

void check_is_dataset(const std::string& prefix) {
  std::error_code error;
  const bool index = fs::exists(prefix + ".idx", error), tokens = fs::exists(prefix + ".bin", error);
  if (index && tokens) return;
  for (const char* ending : {".idx", ".bin"})
    check(!prefix.ends_with(ending), "{} is one of a dataset's two files: give their common prefix, {}", prefix,
          prefix.substr(0, prefix.rfind('.')));
  check(index || !tokens, "{}.bin is there and {}.idx is not: a dataset is both: copy it too, or preprocess again",
        prefix, prefix);
  check(!index, "{}.idx is there and {}.bin is not: a dataset is both: copy it too, or preprocess again", prefix,
        prefix);
  for (const char quote : {'\'', '"'})
    check(prefix.size() < 2 || prefix.front() != quote || prefix.back() != quote,
          "{} has its quotes in the name: quote it once in the script", prefix);
  check(prefix.find("://") == std::string::npos, "{} is in an object store, which is not read: copy it to a disk",
        prefix);
  check(!prefix.starts_with("~/") && !prefix.starts_with('$'),
        "{} begins with a {} that the shell did not replace: change the quotes in the script", prefix,
        prefix.substr(0, 1));
  check(prefix.find_first_not_of("0123456789.eE+-") != std::string::npos ||
            prefix.find_first_of("0123456789") == std::string::npos,
        "{} is a weight where a dataset is wanted: give a weight before each, as 0.3 A 0.7 B, or before none", prefix);
  check(prefix.find(',') == std::string::npos && !prefix.starts_with('['),
        "{} is not there: blanks separate a list: 0.3 A 0.7 B", prefix);
  if (fs::is_directory(prefix, error)) {
    const std::vector<std::string> there = datasets_below(prefix);
    check(there.empty(), "{} is a folder: name a dataset in it, {}", prefix, there.empty() ? "" : there[0]);
    fail("{} is a folder and holds no dataset (.bin and .idx files): make one with preprocess-data", prefix);
  }
  check(!fs::is_regular_file(prefix, error),
        "{} is no dataset: make one of it with preprocess-data, and give the prefix of its .bin and .idx files",
        prefix);
  const std::string longer = longer_name(prefix);
  check(longer.empty(), "{}.idx is not there: is {} meant?", prefix, longer);
}

}  // namespace megalith
