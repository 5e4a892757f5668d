#include "data/merge_datasets.h"

#include <filesystem>
#include <set>

#include "base/check.h"
#include "data/indexed_dataset.h"
#include "data/indexed_dataset_writer.h"

namespace megalith {

namespace fs = std::filesystem;

std::vector<std::string> datasets_in(const std::string& folder) {
  std::set<std::string> prefixes;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (!entry.is_regular_file() || (path.extension() != ".bin" && path.extension() != ".idx")) continue;
    fs::path other = path;
    other.replace_extension(path.extension() == ".bin" ? ".idx" : ".bin");
    check(fs::is_regular_file(other), "{} is there but {} is not: a dataset has both; add or remove one", path.string(),
          other.string());
    prefixes.insert((path.parent_path() / path.stem()).string());
  }
  check(!prefixes.empty(), "{} holds no dataset: want pairs of .bin and .idx files", folder);
  return {prefixes.begin(), prefixes.end()};
}

MergedDatasets merge_datasets(const std::vector<std::string>& prefixes, const std::string& output) {
  check(!prefixes.empty(), "no dataset to merge: name at least one");
  for (const std::string& prefix : prefixes) {
    std::error_code none;  // a missing file is a different file
    check(!fs::equivalent(prefix + ".bin", output + ".bin", none),
          "{} is both an input and the output: choose another output", prefix);
  }
  const TokenType type = IndexedDataset(prefixes[0]).type();
  IndexedDatasetWriter writer(output, type);
  for (const std::string& prefix : prefixes) writer.add_dataset(prefix);
  const MergedDatasets merged{writer.documents(), writer.sequences(), writer.tokens(), type};
  writer.finish();
  return merged;
}

}  // namespace megalith
