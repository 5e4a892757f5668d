// Every flag in the project's inventory of Megatron-LM must be a field of the options. Otherwise the table of accepted
// and refused flags has it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "config/parse.h"
#include "settings/megatron_flags.h"
#include "settings/options.h"
#include "tests/golden.h"

namespace megalith {
namespace {

// Flags of other programs and of subcommands, and words that only look like flags.
const std::set<std::string> kOthers = {"--append-eod",
                                       "--dry-run",
                                       "--dsa-indexer",
                                       "--eval-global",
                                       "--explain-flag",
                                       "--fault-injector",
                                       "--find-optimal-num-workers",
                                       "--input",
                                       "--input-path",
                                       "--json-keys",
                                       "--kebab-case",
                                       "--keep-newlines",
                                       "--keep-sequential-samples",
                                       "--lang",
                                       "--load-dir",
                                       "--loader",
                                       "--max-documents",
                                       "--model-type",
                                       "--multimodal",
                                       "--nnodes",
                                       "--nproc_per_node",
                                       "--output-path",
                                       "--output-prefix",
                                       "--partitions",
                                       "--prepare-cache-world-size",
                                       "--rdzv_backend",
                                       "--rdzv_endpoint",
                                       "--save-dir",
                                       "--saver",
                                       "--source",
                                       "--source-tp",
                                       "--split-sentences",
                                       "--target",
                                       "--target-expert-parallel-size",
                                       "--target-pipeline-parallel-size",
                                       "--target-tensor-parallel-size",
                                       "--train",
                                       "--verify-parallel",
                                       "--workers",
                                       "--workers-to-check",
                                       "--disable-x",
                                       "--no-x"};

// The inventory is in the repository. If ../shared has one, it is tested too, because it may have newer flags.
TEST(Options, KnowEveryFlagOfTheInventory) {
  const std::string page = std::string(kSharedDir) + "/reference/megatron-features.md";
  for (const std::string& path : with_shared(golden("vectors/megatron_flags.txt"), page)) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    const std::string all = text.str();

    Options options;
    config::FieldList fields = config::fields_of(options);
    const config::FlagIndex index(fields, megatron_flags());
    const std::regex flag("(^|[^-A-Za-z0-9])(--[a-z0-9][a-z0-9_-]*[a-z0-9])");
    int known = 0;
    for (std::sregex_iterator it(all.begin(), all.end(), flag), end; it != end; ++it) {
      const std::string name = (*it)[2];
      if (kOthers.contains(name)) continue;
      EXPECT_NO_THROW(index.find(name, "not known: " + name)) << name;
      ++known;
    }
    EXPECT_GT(known, 500) << path;
  }
}

// scripts/megatron-defaults made the table from Megatron-LM's parser. A line has a flag and its default.
std::map<std::string, std::string> megatron_defaults() {
  std::ifstream file(std::filesystem::path(kSourceDir) / "tests/train/megatron_defaults.tsv");
  std::map<std::string, std::string> table;
  for (std::string line; std::getline(file, line);)
    table[line.substr(0, line.find('\t'))] = line.substr(line.find('\t') + 1);
  return table;
}

TEST(Options, KnowEveryFlagOfMegatronsParser) {
  Options options;
  config::FieldList fields = config::fields_of(options);
  const config::FlagIndex index(fields, megatron_flags());
  const auto table = megatron_defaults();
  EXPECT_GT(table.size(), 800u);
  for (const auto& [flag, value] : table) EXPECT_NE(index.known(flag), nullptr) << flag;
}

// True if our default equals Megatron's default.
bool same(const config::Field& field, const std::string& there) {
  // Values that correspond to None in Megatron.
  static const std::map<std::string, std::string> none = {{"rotary-seq-len-interpolation-factor", "1.0"},
                                                          {"dataloader-type", "single"},
                                                          {"null-tokenizer-eod-id", "-1"},
                                                          {"max-position-embeddings", "required"},
                                                          {"eval-interval", "1000"},  // the default of older releases
                                                          {"num-query-groups", "0"},
                                                          {"yarn-beta-fast", "32.0"},
                                                          {"yarn-beta-slow", "1.0"}};
  const std::vector<std::string> values = field.values();
  const std::string text = field.is_list() && values.size() == 1 ? values[0] : field.text();
  if (field.name == "exit-signal") return there == "15" && text == "SIGTERM";
  if (field.name == "num-query-groups") return there == "1" && text == "0";         // only with --group-query-attention
  if (field.name == "rope-scaling-factor") return there == "8.0" && text == "0.0";  // 0: 8 for Llama 3.1's scaling
  if (there == "None") {
    const auto known = none.find(field.name);
    return known != none.end() ? known->second == text
                               : text == "None" || text == "none" || text == "[]" || text == "0" || text == "0.0";
  }
  if (there.empty()) return text == "[]";  // None is an empty list here
  double ours = 0, theirs = 0;
  std::istringstream a(text), b(there);
  if (a >> ours && b >> theirs) return ours == theirs;
  return text == there || (text == "none" && there == "None");
}

// If a default differs from Megatron's, the field is marked. Then the start of a run reports the difference.
TEST(Options, DefaultsThatDifferFromMegatronAreTold) {
  Options options;
  const config::FieldList fields = config::fields_of(options);
  int compared = 0;
  const auto table = megatron_defaults();
  for (const config::Field& field : fields.all()) {
    const auto found = table.find("--" + field.name);
    if (found == table.end() || field.is_switch()) continue;
    ++compared;
    if (field.there.empty())
      EXPECT_TRUE(same(field, found->second))
          << field.name << ": " << field.text() << " here, " << found->second << " there";
    else if (field.there != "required")
      EXPECT_EQ(field.there, found->second) << field.name;
  }
  EXPECT_GT(compared, 80);
}

}  // namespace
}  // namespace megalith
