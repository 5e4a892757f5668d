// Every flag in the project's inventory of Megatron-LM is a field here, or in the table of accepted and refused ones.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "config/parse.h"
#include "tests/golden.h"
#include "train/megatron_flags.h"
#include "train/options.h"

namespace megalith {
namespace {

// Flags of other programs, of subcommands, and words that only look like flags.
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

// Of the tree, and of ../shared where it is there: it may know newer flags.
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

}  // namespace
}  // namespace megalith
