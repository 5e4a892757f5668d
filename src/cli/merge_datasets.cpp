// `megalith merge-datasets`: joins indexed datasets.
#include "data/merge_datasets.h"

#include <filesystem>

#include "cli/command.h"
#include "cli/own_flags.h"

namespace megalith {

namespace {

struct MergeFlags {
  std::vector<std::string> input;
  std::string output_prefix;
};

void list_fields(MergeFlags& c, config::FieldList& f) {
  f.group("Input and output");
  f.add("input", c.input, "Folders, with all their datasets in the order of names, or prefixes.");
  f.add("output-prefix", c.output_prefix, "Writes PREFIX.bin and PREFIX.idx.").shown_as("PREFIX");
}

}  // namespace

int command_merge_datasets(int argc, const char* const* argv) {
  MergeFlags c;
  const auto check_flags = [&](FlagChecks& checks) {
    checks.given({{"--input", !c.input.empty()}, {"--output-prefix", !c.output_prefix.empty()}});
    checks.hold(!c.output_prefix.ends_with('/'),
                "--output-prefix {} is a folder: add a name for the dataset, as {}merged", c.output_prefix,
                c.output_prefix);
  };
  if (!read_flags(c, argc, argv, {}, check_flags)) return 0;
  std::vector<std::string> prefixes;
  for (const std::string& input : c.input) {
    const std::vector<std::string> found =
        std::filesystem::is_directory(input) ? datasets_in(input) : std::vector<std::string>{input};
    prefixes.insert(prefixes.end(), found.begin(), found.end());
  }
  const MergedDatasets merged = merge_datasets(prefixes, c.output_prefix);
  log::say("{} datasets, {} documents, {} sequences, {} tokens of {} in {}.{{bin,idx}}", prefixes.size(),
           merged.documents, merged.sequences, merged.tokens, name_of(merged.type), c.output_prefix);
  return 0;
}

}  // namespace megalith
