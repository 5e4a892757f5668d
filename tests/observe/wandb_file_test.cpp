// Tests of a W&B run's file. It must equal the bytes of W&B's own writer, and our own reader must read it.
#include "observe/sinks/wandb_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/md5.h"
#include "tests/golden.h"
#include "tests/train/files.h"
#include "wandb_reader.h"

namespace megalith {
namespace {

std::string to_hex(std::string_view bytes) {
  std::string s;
  for (const char b : bytes) s += fmt::format("{:02x}", u8(b));
  return s;
}

nlohmann::json vectors() {
  const auto files = golden_vectors("wandb.json");
  EXPECT_GE(files.size(), 1u);
  return nlohmann::json::parse(std::ifstream(files.at(0)));
}

TEST(WandbFile, EqualsWhatWandbWrites) {
  const TempFolder folder("wandb_small");
  WandbFile file(folder.path / "a" / "run.wandb");
  file.run({.id = "mgl00001",
            .entity = "me",
            .project = "megalith",
            .group = "g",
            .name = "demo",
            .host = "host",
            .tags = {"a", "b"},
            .config = {{"num_layers", "12"}, {"lr", wandb_json(0.001)}},
            .starting_step = 300,
            .started = 1700000000.5});
  file.history(301, {{"lm loss", wandb_json(2.5)}, {"grad-norm", wandb_json(NAN)}, {"_step", "301"}});
  file.summary({{"lm loss", wandb_json(INFINITY)}});
  file.exit(0, 12);
  EXPECT_EQ(to_hex(read_file(file.path())), vectors()["small"].get<std::string>());
}

WandbItems filler(i64 i) { return {{"x", wandb_json(std::string(size_t(32700 + i), 'a'))}}; }

// Records end at every position around the end of a block.
TEST(WandbFile, CutsRecordsIntoBlocksAsWandbDoes) {
  const TempFolder folder("wandb_edges");
  WandbFile file(folder.path / "run.wandb");
  for (i64 i = 0; i < 80; ++i) file.history(i + 1, filler(i));
  EXPECT_EQ(md5_hex(read_file(file.path())), vectors()["edges"].get<std::string>());
}

// A file is cut at every byte. All records before the cut are complete.
TEST(WandbFile, HoldsWholeRecordsBeforeACut) {
  const TempFolder folder("wandb_cut");
  WandbFile file(folder.path / "run.wandb");
  std::vector<size_t> ends;
  for (i64 i = 0; i < 300; ++i) {
    file.history(i, {{"lm loss", wandb_json(double(i))}, {"text", wandb_json(std::string(size_t(i * 7 % 500), 'b'))}});
    ends.push_back(std::filesystem::file_size(file.path()));
  }
  const std::string all = read_file(file.path());
  ASSERT_GT(all.size(), 2u * 32768);
  for (size_t cut = 100; cut < all.size(); cut += 331) {
    const size_t whole = size_t(std::ranges::upper_bound(ends, cut) - ends.begin());
    EXPECT_EQ(read_wandb(all.substr(0, cut)).size(), whole + 1) << cut;  // plus the header
  }
}

TEST(WandbFile, SaysWhyItCannotWrite) {
  const TempFolder folder("wandb_error");
  write_file(folder.path / "file", "");
  EXPECT_THROW(WandbFile(folder.path / "file" / "run.wandb"), Error);
}

}  // namespace
}  // namespace megalith
