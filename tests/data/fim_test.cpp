// Fill-in-the-middle with a tokenizer of single characters, and one token "ab".
#include "data/fim.h"

#include <cstdlib>
#include <map>

#include "data/build_datasets.h"
#include "data/loader.h"
#include "tests/data/data_test_util.h"
#include "tests/places.h"

namespace megalith {
namespace {

using Ints = std::vector<i32>;

constexpr i32 kPrefix = 1, kMiddle = 2, kSuffix = 3, kPad = 4, kSplit = 5, kEod = 6, kAb = 7;

std::string utf8(i32 c) {
  if (c < 0x80) return {char(c)};
  if (c < 0x800) return {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
  return {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
}

std::string decode(std::span<const i32> tokens) {
  std::string text;
  for (const i32 t : tokens) text += t == kAb ? "ab" : utf8(t);
  return text;
}

Ints encode(std::string_view text) {
  Ints out;
  for (std::size_t i = 0; i < text.size();) {
    const u8 c = u8(text[i]);
    if (text.substr(i, 2) == "ab") {
      out.push_back(kAb), i += 2;
      continue;
    }
    const std::size_t size = c < 0x80 ? 1 : c < 0xE0 ? 2 : 3;
    EXPECT_LE(i + size, text.size()) << "cut within a character";
    i32 code = size == 1 ? c : c & (size == 2 ? 31 : 15);
    for (std::size_t k = 1; k < size; ++k) code = code << 6 | (text[i + k] & 63);
    out.push_back(code), i += size;
  }
  return out;
}

FimText text_of(i32 eod = kEod) {
  const std::map<std::string, i32> ids = {{"<fim_prefix>", kPrefix}, {"<fim_middle>", kMiddle},
                                          {"<fim_suffix>", kSuffix}, {"<fim_pad>", kPad},
                                          {"<file>", kSplit},        {"<|endoftext|>", eod}};
  return {.find = [=](const std::string& t) { return ids.contains(t) ? ids.at(t) : -1; },
          .decode = decode,
          .encode = encode};
}

Ints changed(const FimConfig& config, Ints tokens, i64 sample = 0, i64 seed = 1234) {
  FillInTheMiddle(config, seed, text_of())(sample, tokens);
  return tokens;
}

Ints random_tokens(RandomState& random, i64 size, const Ints& marks) {
  const Ints letters = {'a', 'b', 'c', kAb, 0xE9, 0x20AC, ' '};
  Ints out;
  for (i64 i = 0; i < size; ++i)
    out.push_back(random.interval(11) == 0 && !marks.empty() ? marks[random.interval(marks.size() - 1)]
                                                             : letters[random.interval(letters.size() - 1)]);
  return out;
}

std::string between(const Ints& tokens, i64 from, i64 to) {
  return decode(std::span(tokens).subspan(std::size_t(from), std::size_t(to - from)));
}
i64 place(const Ints& tokens, i32 token) { return std::ranges::find(tokens, token) - tokens.begin(); }

std::string python() {
  const char* named = std::getenv("MEGALITH_PYTHON");
  return named != nullptr && *named != 0 ? named : "python3";
}

}  // namespace

TEST(Fim, prefix_suffix_middle) {
  RandomState random(1);
  std::map<std::string, int> seen;
  for (i64 k = 0; k < 500; ++k) {
    Ints tokens = random_tokens(random, 12, {});
    const std::string text = decode(tokens);
    tokens.push_back(kEod);
    tokens.resize(tokens.size() + 3 + 6, kEod);  // space for the marks and for tokens that are cut
    const Ints out = changed({.rate = 1, .spm_rate = 0}, tokens, k);
    ASSERT_EQ(out.size(), tokens.size());
    ASSERT_EQ(out[0], kPrefix);
    const i64 suffix = place(out, kSuffix), middle = place(out, kMiddle), end = place(out, kEod);
    ASSERT_LT(suffix, middle);
    ASSERT_LT(middle, end);
    EXPECT_EQ(between(out, 1, suffix) + between(out, middle + 1, end) + between(out, suffix + 1, middle), text);
    seen["no prefix"] += suffix == 1, seen["no suffix"] += middle == suffix + 1, seen["no middle"] += end == middle + 1;
  }
  for (const auto& [what, times] : seen) EXPECT_GT(times, 10) << what;
}

TEST(Fim, suffix_prefix_middle) {
  RandomState random(2);
  for (i64 k = 0; k < 500; ++k) {
    Ints tokens = random_tokens(random, 12, {});
    const std::string text = decode(tokens);
    tokens.resize(tokens.size() + 10, kEod);
    const Ints out = changed({.rate = 1, .spm_rate = 1}, tokens, k);
    ASSERT_EQ(out.size(), tokens.size());
    ASSERT_EQ(out[0], kPrefix);
    ASSERT_EQ(out[1], kSuffix);
    const i64 middle = place(out, kMiddle);
    EXPECT_EQ(between(out, middle + 1, place(out, kEod)) + between(out, 2, middle), text);
  }
}

TEST(Fim, equals_the_plain_definition_with_numpy) {
  if (std::system((python() + " -c 'import numpy' > /dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "needs Python with numpy (MEGALITH_PYTHON names it)";
  RandomState random(3);
  Json cases = Json::array();
  std::vector<Ints> mine;
  const std::vector<double> rates = {0, 0.1, 0.5, 0.7, 1};
  const auto rate = [&] { return rates[random.interval(rates.size() - 1)]; };
  for (i64 k = 0; k < 600; ++k) {
    FimConfig c{.rate = rate(), .spm_rate = rate(), .fragment_rate = rate()};
    if (k % 2 == 0) c.split_sample = "<file>";
    if (k % 3 == 0) c.no_prefix = "a";
    const Ints tokens = random_tokens(random, 1 + i64(random.interval(120)), {kEod, kSplit});
    const i64 seed = k == 0 ? (i64{1} << 32) - 1 : 10 * k;  // seed + index overflows
    mine.push_back(changed(c, tokens, 1 + k % 7, seed));
    cases.push_back({{"seed", (seed + 1 + k % 7) % (i64{1} << 32)},
                     {"tokens", tokens},
                     {"rate", c.rate},
                     {"spm_rate", c.spm_rate},
                     {"fragment_rate", c.fragment_rate},
                     {"split", !c.split_sample.empty()},
                     {"no_prefix", c.no_prefix}});
  }
  const TempDir dir;
  std::ofstream(dir / "cases") << cases;
  const std::string command =
      fmt::format("{} {}/tests/data/fim_reference.py {} {}", python(), kSourceDir, dir / "cases", dir / "tokens");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Json theirs = Json::parse(std::ifstream(dir / "tokens"));
  ASSERT_EQ(theirs.size(), mine.size());
  for (std::size_t k = 0; k < mine.size(); ++k) ASSERT_EQ(mine[k], theirs[k].get<Ints>()) << cases[k];
}

TEST(Fim, rate_0_changes_nothing) {
  RandomState random(4);
  for (i64 k = 0; k < 100; ++k) {
    const Ints tokens = random_tokens(random, 100, {kEod, kEod, kSplit});
    EXPECT_EQ(changed({.rate = 0}, tokens, k), tokens);
    EXPECT_EQ(changed({.rate = 1, .split_sample = "<file>", .fragment_rate = 1}, {kEod, kEod, kSplit, kEod}),
              (Ints{kEod, kEod, kSplit, kEod}));  // there is nothing to cut
  }
}

TEST(Fim, what_became_shorter_is_padded_and_what_became_longer_is_cut) {
  Ints letters;  // "abab...": two tokens each, which merge into one
  for (int i = 0; i < 40; ++i) letters.push_back(i % 2 == 0 ? 'a' : 'b');
  const Ints padded = changed({.rate = 1}, letters);
  ASSERT_EQ(padded.size(), 40u);
  EXPECT_EQ(Ints(padded.end() - 12, padded.end()), Ints(12, kPad));  // at least 40 - 20 - 3 marks - 4 cut tokens
  EXPECT_EQ(std::ranges::count(padded, kMiddle), 1);
  const Ints cut = changed({.rate = 1}, Ints(10, 'c'));
  EXPECT_EQ(cut.size(), 10u);
  EXPECT_EQ(std::ranges::count(cut, i32('c')) + std::ranges::count_if(cut, [](i32 t) { return t <= kSuffix; }), 10);
}

TEST(Fim, fragments_have_a_rate_of_their_own) {
  const Ints files = {'x', 'x', kSplit, 'y', 'y', kSplit, 'z', kEod, 'w', kEod};
  FimConfig c{.rate = 1, .split_sample = "<file>", .fragment_rate = 0};
  const Ints none = changed(c, files);
  EXPECT_EQ(Ints(none.begin(), none.begin() + 8), Ints(files.begin(), files.begin() + 8));
  EXPECT_EQ(none[8], kPrefix);  // without fragments, a document is cut with the rate of documents
  c.fragment_rate = 1;
  Ints room = files;
  room.resize(40, kEod);
  const Ints all = changed(c, room);
  EXPECT_EQ(std::ranges::count(all, kPrefix), 4);
  EXPECT_EQ(std::ranges::count(all, kSplit), 2);
  Ints letters;
  for (const i32 t : all)
    if (t > kAb || t == kSplit) letters.push_back(t);
  EXPECT_EQ(letters, (Ints{'x', 'x', kSplit, 'y', 'y', kSplit, 'z', 'w'}));
}

TEST(Fim, what_begins_with_no_prefix_is_left_alone) {
  const Ints tokens = {'n', 'o', 'c', kEod, 'n', 'c', 'o', kEod, kEod, kEod, kEod};
  const Ints out = changed({.rate = 1, .no_prefix = "no"}, tokens);
  EXPECT_EQ(Ints(out.begin(), out.begin() + 4), Ints(tokens.begin(), tokens.begin() + 4));
  EXPECT_EQ(out[4], kPrefix);
}

TEST(Fim, tokens_that_are_not_there_are_named_with_their_flag) {
  EXPECT_EQ(error_of([] { changed({.middle_token = "<mid>"}, {}); }),
            "--fim-middle-token <mid>: the tokenizer has no such token: name one that it has");
  EXPECT_EQ(error_of([] { changed({.split_sample = "<dir>"}, {}); }),
            "--fim-split-sample <dir>: the tokenizer has no such token: name one that it has");
}

TEST(Fim, samples_are_the_same_however_they_are_read) {
  const TempDir dir;
  write_rule_files(dir / "rule", {30, 7, 50, 1, 1, 80, 12, 40});
  const DataConfig config{.data_path = {dir / "rule"}, .split = "1,0,0", .seq_length = 16, .eod = 4999};
  const auto sets_of = [&](double rate) {
    return build_datasets(config, {.train = 40}, FillInTheMiddle({.rate = rate}, config.seed, text_of(4999))).train;
  };
  const auto plain = build_datasets(config, {.train = 40}).train, same = sets_of(0), fim = sets_of(0.7);
  DataLoader ahead(fim, {.micro_batch_size = 1, .num_workers = 3});
  int different = 0;
  for (i64 i = 0; i < 40; ++i) {
    const OwnedRow row = get_row(*plain, i), still = get_row(*same, i), other = get_row(*fim, i);
    EXPECT_EQ(still.tokens, row.tokens);
    EXPECT_EQ(still.labels, row.labels);
    EXPECT_EQ(still.loss_mask, row.loss_mask);
    EXPECT_EQ(ahead.next().ints("tokens"), other.tokens);
    different += other.tokens != row.tokens;
    EXPECT_TRUE(std::equal(other.tokens.begin() + 1, other.tokens.end(), other.labels.begin()));
    DataLoader resumed(fim, {.consumed_samples = i, .micro_batch_size = 1, .num_workers = 0});
    EXPECT_EQ(resumed.next().ints("labels"), other.labels);
  }
  EXPECT_GT(different, 20);
}

// The last sample of a validation set may have fewer tokens: its padding is not text.
TEST(Fim, padding_of_a_short_sample_is_not_decoded) {
  const TempDir dir;
  write_rule_files(dir / "rule", {30});
  const DataConfig config{
      .valid_data_path = {dir / "rule"}, .seq_length = 16, .eod = 4999, .drop_last_partial_validation_sequence = false};
  const auto valid = build_datasets(config, {.train = 0, .valid = std::nullopt},
                                    FillInTheMiddle({.rate = 1}, config.seed, text_of(4999)))
                         .valid;
  ASSERT_EQ(valid->size(), 2);
  const OwnedRow row = get_row(*valid, 1);
  EXPECT_EQ(row.tokens[0], kPrefix);
  EXPECT_EQ(row.loss_mask.back(), 0.0f);
}

}  // namespace megalith
