// Layers shared out over stages by Megatron's rules.
#include "plan/stages.h"

#include <gtest/gtest.h>

#include "tests/plan/refusal.h"

namespace megalith {

using Counts = std::vector<i64>;

TEST(Stages, EvenSplits) {
  EXPECT_EQ(split_layers({.layers = 32, .stages = 4}), Counts(4, 8));
  EXPECT_EQ(split_layers({.layers = 32, .stages = 4, .chunks = 2}), Counts(8, 4));
  EXPECT_EQ(split_layers({.layers = 5}), Counts{5});
  EXPECT_EQ(chunks_of({.layers = 32, .stages = 4}, 2), 4);
  EXPECT_EQ(chunks_of({.layers = 30, .stages = 4, .embedding_counts = true, .loss_counts = true}, 4), 2);
}

TEST(Stages, FirstAndLastStagesOfTheirOwnSize) {
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .first = 6}), (Counts{6, 8, 8, 8}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .last = 6}), (Counts{8, 8, 8, 6}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .first = 8, .last = 6}), (Counts{8, 8, 8, 6}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 2, .first = 20, .last = 10}), (Counts{20, 10}));
  EXPECT_EQ(split_layers({.layers = 28, .stages = 4, .chunks = 2, .first = 4}), (Counts{2, 4, 4, 4, 2, 4, 4, 4}));
}

TEST(Stages, EmbeddingAndLossCountAsLayers) {
  EXPECT_EQ(split_layers({.layers = 31, .stages = 4, .embedding_counts = true}), (Counts{7, 8, 8, 8}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .embedding_counts = true, .loss_counts = true}),
            (Counts{7, 8, 8, 7}));
  EXPECT_EQ(split_layers({.layers = 30, .stages = 4, .chunks = 2, .embedding_counts = true, .loss_counts = true}),
            (Counts{3, 4, 4, 4, 4, 4, 4, 3}));
  EXPECT_EQ(split_layers({.layers = 2, .stages = 4, .embedding_counts = true, .loss_counts = true}),
            (Counts{0, 1, 1, 0}));
  EXPECT_EQ(split_layers({.layers = 3, .embedding_counts = true, .loss_counts = true}), (Counts{3}));
}

TEST(Stages, RefusesSharesThatAreNotWhole) {
  auto why = [](const LayerSplit& s) { return refusal([&] { split_layers(s); }); };
  EXPECT_NE(why({.layers = 30, .stages = 4}).find("30 layers do not divide by 4 pipeline stages"), std::string::npos);
  EXPECT_NE(why({.layers = 32, .stages = 4, .loss_counts = true}).find("33 layers (embedding and loss counted)"),
            std::string::npos);
  EXPECT_NE(why({.layers = 32, .stages = 4, .chunks = 3}).find("do not divide by 3 virtual stages"), std::string::npos);
  EXPECT_NE(why({.layers = 30, .stages = 4, .first = 7}).find("23 of 30 layers are left for the 3"), std::string::npos);
  EXPECT_NE(why({.layers = 30, .stages = 2, .first = 20, .last = 9}), "");
  EXPECT_NE(why({.layers = 4, .stages = 4, .first = 4}), "") << "stages without layers";
  EXPECT_NE(why({.layers = 4, .stages = 4, .first = 7}), "");
  EXPECT_NE(why({.layers = 4, .stages = 1, .first = 4}), "");
  EXPECT_NE(why({.layers = 4, .stages = 2, .first = 0}), "");
  EXPECT_NE(why({.layers = 30, .stages = 4, .first = 6, .loss_counts = true}).find("take one way"), std::string::npos);
  EXPECT_NE(why({.layers = 0, .stages = 2}), "");
  EXPECT_NE(why({.layers = 4, .stages = 0}), "");
  EXPECT_EQ(refusal([] { chunks_of({.layers = 32, .stages = 4}, 3); }),
            "the 8 layers of a pipeline stage do not divide by 3 a virtual stage: take a divisor of 8");
  EXPECT_NE(refusal([] { chunks_of({.layers = 32, .stages = 4}, 0); }), "");
  EXPECT_NE(refusal([] { chunks_of({.layers = 30, .stages = 4, .first = 6}, 2); }), "");
}

}  // namespace megalith
