#include "data/sample_ranges.h"

#include "data/samplers.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

SampleRanges parse(const std::string& text) { return SampleRanges::parse(text, "FILE"); }

TEST(SampleRanges, TakesNumbersRangesAndComments) {
  const SampleRanges s = parse("# of iteration 3\n12  # document 7 of wiki\r\n\n 40 - 43\n41-50\n13\n");
  EXPECT_EQ(s.text(), "12-13, 40-50");
  EXPECT_EQ(s.size(), 13);
  for (const i64 in : {12, 13, 40, 50}) EXPECT_TRUE(s.contains(in)) << in;
  for (const i64 out : {0, 11, 14, 39, 51}) EXPECT_FALSE(s.contains(out)) << out;
  EXPECT_EQ(s.count(13, 42), 3);
  EXPECT_EQ(s.text(13, 42), "13, 40-41");
  EXPECT_TRUE(parse("").empty());
  EXPECT_TRUE(parse("# nothing\n").empty());
}

TEST(SampleRanges, OtherTextIsToldWithItsLine) {
  for (const char* odd :
       {"x", "-3", "3-", "5-4", "1.5", "99999999999999999999", "1 2", "9223372036854775807", "\x1b[2J"}) {
    const std::string said = error_of([&] { parse(std::string("1\n") + odd + "\n"); });
    EXPECT_NE(said.find("FILE: line 2 is '"), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_EQ(said.find('\x1b'), std::string::npos);
  }
}

// All ranks together leave out just these, whatever the order in which samples are drawn.
TEST(SampleRanges, AreLeftOutBySamplers) {
  for (const SamplerType type : {SamplerType::single, SamplerType::cyclic}) {
    SamplerConfig config{.type = type, .total_samples = 24, .micro_batch_size = 2, .data_parallel_size = 3};
    for (i64 rank = 0; rank < 3; ++rank) {
      config.data_parallel_rank = rank, config.left_out = nullptr;
      const auto all = make_sampler(config);
      config.left_out = std::make_shared<SampleRanges>(parse("3\n8-9"));
      const auto some = make_sampler(config);
      for (i64 batch = 0; batch < 4; ++batch) {
        const auto x = all->next(), y = some->next();
        for (i64 row = 0; row < 2; ++row) {
          const i64 sample = batch * 6 + rank * 2 + row;
          EXPECT_EQ(y[size_t(row)], sample == 3 || sample == 8 || sample == 9 ? -1 : x[size_t(row)]) << sample;
        }
      }
    }
  }
}

}  // namespace
}  // namespace megalith
