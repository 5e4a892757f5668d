// Sentence maps, and BERT and T5 samples, compared with Megatron's.
#include <algorithm>
#include <numeric>

#include "data/bert_samples.h"
#include "data/loader.h"
#include "data/masked_datasets.h"
#include "data/t5_dataset.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

class Sentences : public TokenSource {
 public:
  explicit Sentences(std::vector<std::vector<i32>> all) : all_(std::move(all)) {}
  const std::string& name() const override { return name_; }
  i64 sequences() const override { return i64(all_.size()); }
  i64 length(i64 sequence) const override { return i64(all_.at(std::size_t(sequence)).size()); }
  void read(i64 sequence, i64 offset, std::span<i32> out) const override {
    std::copy_n(all_.at(std::size_t(sequence)).begin() + offset, out.size(), out.begin());
  }

 private:
  std::string name_ = "sentences";
  std::vector<std::vector<i32>> all_;
};

std::shared_ptr<Sentences> sentences_of(const Json& v) {
  return std::make_shared<Sentences>(v["sentences"].get<std::vector<std::vector<i32>>>());
}

MaskingConfig masking_of(const Json& c) {
  return {.probability = c["masking_probability"],
          .short_probability = c["short_sequence_probability"],
          .max_ngram = c["masking_max_ngram"],
          .full_words = c["masking_do_full_word"],
          .longer_ngrams = c["masking_use_longer_ngrams"],
          .geometric = c["masking_use_geometric_distribution"],
          .continues_word = [](i32 id) { return id > 5 && id % 3 == 0; }};
}

std::vector<std::vector<i64>> rows(std::span<const SentenceSpan> map) {
  std::vector<std::vector<i64>> all;
  for (const SentenceSpan& s : map) all.push_back({s.begin, s.end, s.target});
  return all;
}

using Ints = std::vector<i32>;

}  // namespace

TEST(SentenceMap, equals_megatron) {
  for (const std::string& file : golden_vectors("bert_t5.json")) {
    SCOPED_TRACE(file);
    const Json all = read_json(file);
    const auto sentences = sentences_of(all);
    for (const Json& v : all["build_mapping"]) {
      const bool one_epoch = v["num_epochs"] == 1;
      const auto map = build_sentence_map(
          *sentences, all["build_mapping_docs"],
          {.samples = one_epoch ? std::optional<i64>() : std::optional<i64>(v["max_num_samples"].get<i64>()),
           .max_length = v["max_seq_length"],
           .short_probability = v["short_seq_prob"],
           .seed = v["seed"],
           .min_sentences = v["min_num_sent"]});
      EXPECT_EQ(rows(map), v["mapping"].get<std::vector<std::vector<i64>>>());
    }
  }
}

TEST(SentenceMap, leaves_out_long_sentences_and_says_when_nothing_is_left) {
  const Sentences two({Ints(513, 1), {1}, {1, 2}, {3}});
  const SentenceMapRequest request{.max_length = 10, .min_sentences = 2};
  EXPECT_EQ(rows(build_sentence_map(two, {0, 2, 4}, request)), (std::vector<std::vector<i64>>{{2, 4, 10}}));
  EXPECT_NE(error_of([&] { build_sentence_map(two, {0, 2}, request); }).find("no samples"), std::string::npos);
  EXPECT_NE(error_of([&] { build_sentence_map(two, {0}, request); }).find("0 documents"), std::string::npos);
  EXPECT_NE(error_of([&] { build_sentence_map(two, {0, 2, 4}, {.max_length = 1}); }), "");
  EXPECT_NE(error_of([&] { build_sentence_map(two, {0, 2, 4}, {.max_length = 10, .short_probability = 1.5}); }), "");
}

TEST(BertDataset, equals_megatron) {
  for (const std::string& file : golden_vectors("bert_t5.json")) {
    SCOPED_TRACE(file);
    const Json all = read_json(file), v = all["bert"], special = all["special"];
    const BertDataset dataset(sentences_of(all), all["build_mapping_docs"], v["sample_index"].size(),
                              {.seq_length = v["sequence_length"],
                               .seed = v["config"]["random_seed"],
                               .sentence_order = v["classification_head"],
                               .cls = special["cls"],
                               .sep = special["sep"],
                               .mask = special["mask"],
                               .pad = special["pad"],
                               .vocab_size = 50,
                               .masking = masking_of(v["config"])});
    EXPECT_EQ(rows(dataset.map()), v["sample_index"].get<std::vector<std::vector<i64>>>());
    for (std::size_t i = 0; i < v["samples"].size(); ++i) {
      const Json& s = v["samples"][i];
      const BertSample got = dataset.get(i64(i));
      EXPECT_EQ(got, (BertSample{.text = s["text"],
                                 .types = s["types"],
                                 .labels = s["labels"],
                                 .padding_mask = s["padding_mask"],
                                 .loss_mask = s["loss_mask"],
                                 .is_swapped = s["is_random"] != 0,
                                 .is_truncated = s["truncated"] != 0}))
          << i << " " << Json(got.text).dump() << Json(got.labels).dump();
    }
    EXPECT_NE(error_of([&] { dataset.get(dataset.size()); }), "");
  }
}

// As a run reads them: batches of a loader.
TEST(BertSamples, batches_equal_megatron) {
  for (const std::string& file : golden_vectors("bert_t5.json")) {
    SCOPED_TRACE(file);
    const Json all = read_json(file), v = all["bert"], special = all["special"];
    const BertConfig config{.seq_length = v["sequence_length"],
                            .seed = v["config"]["random_seed"],
                            .sentence_order = v["classification_head"],
                            .cls = special["cls"],
                            .sep = special["sep"],
                            .mask = special["mask"],
                            .pad = special["pad"],
                            .vocab_size = 50,
                            .masking = masking_of(v["config"])};
    const auto samples =
        std::make_shared<BertSamples>(sentences_of(all), all["build_mapping_docs"], v["sample_index"].size(), config);
    DataLoader loader(samples, {.num_workers = 2});
    for (const Json& s : v["samples"]) {
      const Batch got = loader.next();
      const auto mask = s["padding_mask"].get<Ints>();
      const i64 length = std::ranges::count(mask, 1);
      EXPECT_EQ(got.ints("tokens"), s["text"].get<Ints>());
      EXPECT_EQ(got.ints("labels"), s["labels"].get<Ints>());
      EXPECT_EQ(got.floats("loss_mask"), s["loss_mask"].get<std::vector<float>>());
      EXPECT_EQ(got.ints("lengths"), Ints{i32(length)});
      EXPECT_EQ(got.ints("is_random"), Ints{s["is_random"].get<i32>()});
      EXPECT_EQ(got.floats("pair_mask"), std::vector<float>{1});
      auto types = s["types"].get<Ints>();
      std::fill(types.begin() + length, types.end(), 0);  // of padding, which nothing reads
      EXPECT_EQ(got.ints("types"), types);
    }
    const std::vector<DatasetUse> use = samples->use(samples->size());
    EXPECT_EQ(use.at(0).samples, samples->size());
    EXPECT_GT(use.at(0).epochs, 0);
  }
}

TEST(BertSamples, refuses_tokens_outside_the_vocabulary) {
  const auto sentences = std::make_shared<Sentences>(std::vector<Ints>{{5, 6, 7}, {8, 70, 9}, {5, 5}});
  const BertSamples samples(sentences, {0, 3}, 1, {.seq_length = 16, .cls = 1, .sep = 2, .mask = 3, .vocab_size = 60});
  DataLoader loader(std::make_shared<BertSamples>(samples), {.num_workers = 0});
  EXPECT_NE(error_of([&] { loader.next(); }).find("token 70, outside the vocabulary of 60"), std::string::npos);
}

TEST(MaskedDatasets, mock_data_has_splits_of_its_own) {
  DataConfig config;
  config.mock_data = true, config.seq_length = 32;
  const MakeMasked make = [&](std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& documents,
                              std::optional<i64> samples) {
    return std::make_shared<BertSamples>(
        std::move(sentences), documents, samples,
        BertConfig{.seq_length = 32, .cls = 96, .sep = 97, .mask = 98, .pad = 99, .vocab_size = 100});
  };
  const Datasets sets = build_masked_datasets(config, {.train = 50, .valid = 20, .test = 0}, 96, make);
  EXPECT_GE(sets.train->size(), 50);
  EXPECT_GE(sets.valid->size(), 20);
  EXPECT_EQ(sets.test, nullptr);
}

TEST(BertDataset, truncates_to_the_target_and_masks_about_a_share) {
  std::vector<Ints> sentences;
  for (int s = 0; s < 40; ++s) sentences.push_back(Ints(std::size_t(20 + s), 10 + s));
  BertConfig config{.seq_length = 64, .cls = 1, .sep = 2, .mask = 3, .vocab_size = 60};
  const BertDataset dataset(std::make_shared<Sentences>(sentences), {0, 20, 40}, 200, config);
  i64 masked = 0, kept = 0, other = 0;
  for (i64 i = 0; i < dataset.size(); ++i) {
    const BertSample s = dataset.get(i);
    ASSERT_EQ(s.text.size(), 64u);
    EXPECT_EQ(s.text[0], 1);
    for (std::size_t p = 0; p < 64; ++p) {
      if (s.labels[p] < 0) continue;
      EXPECT_EQ(s.padding_mask[p], 1);
      EXPECT_GE(s.labels[p], 10);  // never [CLS] or [SEP]
      ++(s.text[p] == 3 ? masked : s.text[p] == s.labels[p] ? kept : other);
    }
  }
  const double total = double(masked + kept + other);
  EXPECT_NEAR(total / double(dataset.size()) / 64, 0.15, 0.02);
  EXPECT_NEAR(double(masked) / total, 0.8, 0.04);
  EXPECT_NEAR(double(kept) / total, 0.1, 0.04);
}

// Special tokens that a tokenizer added to sentences stay, as in Megatron.
TEST(T5Dataset, never_masks_marks_of_sentences) {
  std::vector<Ints> sentences;
  for (i32 s = 0; s < 30; ++s) sentences.push_back({1, 10 + s, 11 + s, 12 + s, 2});
  T5Config config{.seq_length = 32, .seq_length_decoder = 32, .bos = 4, .eos = 5};
  for (i32 id = 70; id < 90; ++id) config.sentinels.push_back(id);
  config.masking.probability = 0.4;
  const auto masked_marks = [&](const std::vector<i32>& kept) {
    config.kept = kept;
    const T5Dataset dataset(std::make_shared<Sentences>(sentences), {0, 15, 30}, 100, config);
    i64 n = 0;
    for (i64 i = 0; i < dataset.size(); ++i)
      n += std::ranges::count_if(dataset.get(i).labels, [](i32 id) { return id == 1 || id == 2; });
    return n;
  };
  EXPECT_GT(masked_marks({}), 0);
  EXPECT_EQ(masked_marks({1, 2}), 0);
}

TEST(T5Dataset, equals_megatron) {
  for (const std::string& file : golden_vectors("bert_t5.json")) {
    SCOPED_TRACE(file);
    const Json all = read_json(file), v = all["t5"], special = all["special"];
    const T5Config config{.seq_length = v["sequence_length"],
                          .seq_length_decoder = v["sequence_length_decoder"],
                          .seed = v["config"]["random_seed"],
                          .bos = special["bos"],
                          .eos = special["eos"],
                          .pad = special["pad"],
                          .sentinels = special["sentinels"],
                          .masking = masking_of(v["config"])};
    const auto dataset = [&](const T5Config& c) {
      return T5Dataset(sentences_of(all), all["build_mapping_docs"], v["sample_index"].size(), c);
    };
    const T5Dataset plain = dataset(config);
    EXPECT_EQ(rows(plain.map()), v["sample_index"].get<std::vector<std::vector<i64>>>());
    for (std::size_t i = 0; i < v["samples"].size(); ++i) {
      const Json& s = v["samples"][i];
      const T5Sample got = plain.get(i64(i));
      EXPECT_EQ(got, (T5Sample{.encoder_text = s["text_enc"],
                               .encoder_mask = s["enc_mask"],
                               .decoder_text = s["text_dec"],
                               .decoder_mask = s["dec_mask"],
                               .labels = s["labels"],
                               .loss_mask = s["loss_mask"],
                               .is_truncated = s["truncated"] != 0}))
          << i << " " << Json(got.encoder_text).dump();
    }
    // A sample with several masked runs, but one sentinel or decoder position too few.
    const auto runs = [&](const Json& s) {
      return std::ranges::count_if(s["text_dec"], [](const Json& id) { return id >= 50; });
    };
    const i64 i =
        std::ranges::find_if(v["samples"], [&](const Json& s) { return runs(s) == 2; }) - v["samples"].begin();
    T5Config few = config;
    few.sentinels.resize(1);
    EXPECT_NE(error_of([&] { dataset(few).get(i); }).find("2 masked runs but there are 1 sentinels"),
              std::string::npos);
    const auto mask = v["samples"][std::size_t(i)]["dec_mask"].get<std::vector<i64>>();
    const i64 tokens = std::accumulate(mask.begin(), mask.end(), i64{0});
    few = config, few.seq_length_decoder = tokens - 1;
    EXPECT_NE(error_of([&] {
                dataset(few).get(i);
              }).find(fmt::format("{} tokens in the decoder, which has {}", tokens, tokens - 1)),
              std::string::npos);
  }
}

}  // namespace megalith
