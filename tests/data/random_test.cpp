#include <bit>
#include <numeric>
#include <random>

#include "data/md5.h"
#include "data/mock_source.h"
#include "data/numpy_random.h"
#include "data/torch_randperm.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

std::vector<i32> shuffled(RandomState& random, i64 n) {
  std::vector<i32> values(n);
  std::iota(values.begin(), values.end(), 0);
  random.shuffle(std::span(values));
  return values;
}

template <class T>
std::string md5_of(const std::vector<T>& values) {
  return md5_hex(std::span(reinterpret_cast<const u8*>(values.data()), values.size() * sizeof(T)));
}

}  // namespace

TEST(Md5, known_digests) {
  EXPECT_EQ(md5_hex(std::string()), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_hex(std::string("abc")), "900150983cd24fb0d6963f7d28e17f72");
}

TEST(MersenneTwister, equals_the_standard_library) {
  for (u32 seed : {0u, 1u, 1234u, 4294967295u}) {
    MersenneTwister random(seed);
    std::mt19937 standard(seed);
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(random(), standard()) << seed << ": " << i;
    for (std::size_t n : {0u, 1u, 600u, 7u}) {
      const std::span<const u32> ahead = random.ahead();
      for (std::size_t i = 0; i < std::min(n, ahead.size()); ++i) ASSERT_EQ(ahead[i], standard());
      random.take(std::min(n, ahead.size()));
    }
    EXPECT_EQ(random(), standard());
  }
}

TEST(RandomState, equals_numpy) {
  for (const std::string& file : golden_vectors("mt19937_numpy_randomstate.json")) {
    SCOPED_TRACE(file);
    for (const Json& v : read_json(file)) {
      const u32 seed = v["seed"];
      RandomState raw(seed), wide(seed), doubles(seed), digits(seed), thousand(seed);
      const std::vector<u32> words = v["raw_uint32"];
      for (u32 w : words) EXPECT_EQ(raw.next32(), w);
      EXPECT_EQ(wide.next64(), (u64(words[0]) << 32) | words[1]);
      for (const Json& hex : v["random_double_hex_be"])
        EXPECT_EQ(std::bit_cast<u64>(doubles.next_double()), std::stoull(std::string(hex), nullptr, 16));
      for (const Json& x : v["randint_0_10"]) EXPECT_EQ(digits.interval(9), u64(x));
      for (const Json& x : v["randint_1_1000"]) EXPECT_EQ(1 + thousand.interval(998), u64(x));
      for (const auto& [n, expected] : v["shuffle"].items()) {
        RandomState random(seed);
        EXPECT_EQ(shuffled(random, std::stoll(n)), expected.get<std::vector<i32>>()) << "seed " << seed << " n " << n;
      }
      RandomState consecutive(seed), large(seed);
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(shuffled(consecutive, std::array{7, 9, 4}[i]),
                  v["consecutive_shuffles_7_9_4"][i].get<std::vector<i32>>());
      EXPECT_EQ(md5_of(shuffled(large, 100000)), v["shuffle_100000_int32_le_md5"]);
    }
  }
}

TEST(RandomState, interval_keeps_its_bounds) {
  RandomState random(7);
  EXPECT_EQ(random.interval(0), 0u);
  for (u64 max : {1ull, 2ull, 3ull, 7ull, 8ull, 0xffffffffull, 0x100000000ull, ~0ull >> 1, ~0ull})
    for (int i = 0; i < 100; ++i) EXPECT_LE(random.interval(max), max);
}

TEST(TorchRandperm, equals_torch) {
  for (const std::string& file : golden_vectors("torch_randperm.json")) {
    SCOPED_TRACE(file);
    for (const Json& v : read_json(file))
      EXPECT_EQ(torch_randperm(v["n"], v["seed"]), v["perm"].get<std::vector<i64>>());
    EXPECT_TRUE(torch_randperm(0, 1).empty());
  }
}

TEST(MockSource, equals_megatron) {
  for (const std::string& file : golden_vectors("mock_gpt_lengths.json")) {
    SCOPED_TRACE(file);
    const Json v = read_json(file);
    const MockSource source(50, 49);
    std::vector<i32> lengths;
    for (i64 s = 0; s < source.sequences(); ++s) lengths.push_back(i32(source.length(s)));
    EXPECT_EQ(std::vector<i32>(lengths.begin(), lengths.begin() + 20), v["first20"].get<std::vector<i32>>());
    EXPECT_EQ(std::vector<i32>(lengths.end() - 5, lengths.end()), v["last5"].get<std::vector<i32>>());
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), i64{0}), i64(v["sum"]));
    EXPECT_EQ(md5_of(lengths), v["md5_int32_le"]);
  }
}

TEST(MockSource, counts_up_and_ends) {
  const MockSource source(50, 49);
  std::vector<i32> document(source.length(7));  // 68 tokens
  source.read(7, 0, document);
  EXPECT_EQ(document[0], 1);
  EXPECT_EQ(document[48], 49);
  EXPECT_EQ(document[49], 0);
  EXPECT_EQ(document[66], 67 % 50);
  EXPECT_EQ(document[67], 49);
  std::vector<i32> part(3);
  source.read(7, 65, part);
  EXPECT_EQ(part, (std::vector<i32>{16, 17, 49}));
  EXPECT_NE(error_of([&] { source.read(7, 66, part); }), "");
  EXPECT_NE(error_of([&] { source.read(100000, 0, part); }), "");
  EXPECT_NE(error_of([] { MockSource(0, -1); }).find("--vocab-size"), std::string::npos);
}

}  // namespace megalith
