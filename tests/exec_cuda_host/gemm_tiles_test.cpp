#include "exec/cuda/products/gemm_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace megalith::cuda {

static std::vector<int> all_tiles() {
  std::vector<int> ids;
  for (const GemmTile& t : hopper_tiles()) ids.push_back(t.id);
  return ids;
}

// From cuBLASLt 13's header, by number.
constexpr GemmTile k160x128{30, 160, 128}, k128x152{407, 128, 152}, k88x192{145, 88, 192}, k256x128{24, 256, 128},
    k128x256{23, 128, 256}, k200x128{212, 200, 128}, k256x160{502, 256, 160}, k128x128{20, 128, 128};

TEST(GemmTiles, have_the_librarys_sizes) {
  for (const GemmTile& want : {k160x128, k128x152, k88x192, k256x128, k128x256, k200x128, k256x160, k128x128}) {
    const auto it = std::ranges::find(hopper_tiles(), want.id, &GemmTile::id);
    ASSERT_NE(it, hopper_tiles().end()) << want.id;
    EXPECT_EQ(it->rows, want.rows) << want.id;
    EXPECT_EQ(it->cols, want.cols) << want.id;
  }
}

TEST(GemmTiles, a_wave_more_costs_a_wave) {
  const auto cycles = [](i64 cols) { return best_cut({128, cols, 4096, 132}, k128x128).cycles; };
  EXPECT_EQ(cycles(128), cycles(132 * 128)) << "one wave";
  EXPECT_EQ(cycles(133 * 128), 2 * cycles(132 * 128)) << "begins a second";
  EXPECT_EQ(cycles(264 * 128), 2 * cycles(132 * 128));
  // 128 x 128 x (4096 terms and what a tile costs) at 2048 a cycle.
  EXPECT_NEAR(cycles(128), 128 * 128 * 4096 / 2048, 128 * 128 * 128 / 2048);
}

TEST(GemmTiles, pairs_share_what_they_read_and_do_not_stick_out) {
  EXPECT_TRUE(best_cut({16384, 16384, 4096, 132}, k256x128).pairs_along_cols) << "256x256 is squarer than 512x128";
  EXPECT_FALSE(best_cut({16384, 16384, 4096, 132}, k128x256).pairs_along_cols);
  // 10 x 13 tiles fill 130 multiprocessors; with a fourteenth column there would be 140.
  EXPECT_FALSE(best_cut({1600, 1600, 16384, 132}, k160x128).pairs_along_cols);
}

// What was measured to take the fewest cycles of some 450 configurations of each, on an H200: GPT-2 1.56B, 16384
// tokens.
TEST(GemmTiles, measured_winners_come_first) {
  struct Measured {
    const char* name;
    TiledProduct product;
    GemmTile tile;
  };
  const std::vector<Measured> cases = {
      {"up", {6400, 16384, 1600, 132}, k128x152},           {"up's dgrad", {1600, 16384, 6400, 132}, k160x128},
      {"down", {1600, 16384, 6400, 132}, k160x128},         {"down's dgrad", {6400, 16384, 1600, 132}, k128x152},
      {"qkv", {4800, 16384, 1600, 132}, k88x192},           {"qkv's dgrad", {1600, 16384, 4800, 132}, k160x128},
      {"qkv's wgrad", {1600, 4800, 16384, 132}, k160x128},  {"out's wgrad", {1600, 1600, 16384, 132}, k160x128},
      {"head's dgrad", {1600, 16384, 50304, 132}, k160x128}};
  for (const Measured& c : cases) {
    const std::vector<Cut> cuts = promising_cuts(c.product, all_tiles(), {}, 8);
    ASSERT_EQ(cuts.size(), 8) << c.name;
    EXPECT_TRUE(std::ranges::any_of(cuts, [&](const Cut& cut) { return cut.tile.id == c.tile.id; })) << c.name;
    EXPECT_TRUE(std::ranges::is_sorted(cuts, {}, &Cut::cycles)) << c.name;
    // Of what the library had suggested for these, no tile promised as much.
    for (const Cut& cut : promising_cuts(c.product, all_tiles(), {k256x128.id, k128x128.id}, 8))
      EXPECT_LE(cut.cycles, best_cut(c.product, k256x128).cycles) << c.name;
  }
}

TEST(GemmTiles, only_as_good_as_suggested_and_only_what_there_is) {
  const TiledProduct up{6400, 16384, 1600, 132};
  for (const Cut& c : promising_cuts(up, all_tiles(), {k128x152.id}, 1000))
    EXPECT_LE(c.cycles, best_cut(up, k128x152).cycles);
  EXPECT_TRUE(promising_cuts(up, {k256x128.id}, {k128x152.id}, 8).empty()) << "slower than suggested";
  EXPECT_EQ(promising_cuts(up, {k256x128.id}, {1, 9999}, 8).size(), 1) << "suggested ones that are not known";
  EXPECT_TRUE(promising_cuts(up, {1, 9999}, {}, 8).empty()) << "offered ones that are not known";
  EXPECT_TRUE(promising_cuts(up, {}, {k256x128.id}, 8).empty());
  EXPECT_EQ(promising_cuts(up, all_tiles(), {}, 3).size(), 3);
}

}  // namespace megalith::cuda
