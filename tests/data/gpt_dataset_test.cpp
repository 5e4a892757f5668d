#include "data/gpt_dataset.h"

#include <numeric>

#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

// One sample: the documents 7 8 | 5 9 | 6, each ended by 9 except the last.
class ListSource : public TokenSource {
 public:
  explicit ListSource(std::vector<std::vector<i32>> documents) : documents_(std::move(documents)) {}
  const std::string& name() const override { return name_; }
  i64 sequences() const override { return i64(documents_.size()); }
  i64 length(i64 sequence) const override { return i64(documents_[sequence].size()); }
  void read(i64 sequence, i64 offset, std::span<i32> out) const override {
    std::copy_n(documents_[sequence].begin() + offset, out.size(), out.begin());
  }

 private:
  std::string name_ = "list";
  std::vector<std::vector<i32>> documents_;
};

GptDataset dataset(std::vector<std::vector<i32>> documents, GptSampleOptions options, u32 last_entry, i32 last_offset) {
  std::vector<i32> order(documents.size());
  std::iota(order.begin(), order.end(), 0);
  const GptIndex index{.documents = order,
                       .cuts = std::vector<SamplePosition>{{0, 0}, {last_entry, last_offset}},
                       .shuffle = std::vector<u32>{0}};
  return {std::make_shared<ListSource>(std::move(documents)), index, options};
}

using Ints = std::vector<i32>;
using Floats = std::vector<float>;

}  // namespace

TEST(GptDataset, plain_sample) {
  const GptDataset data = dataset({{7, 8, 9}, {5, 9}, {6, 4}}, {.seq_length = 6, .vocab_size = 10, .eod = 9}, 2, 1);
  EXPECT_EQ(data.arrays().size(), 4u);  // without document_starts
  const OwnedRow row = get_row(data, 0);
  EXPECT_EQ(row.tokens, (Ints{7, 8, 9, 5, 9, 6}));
  EXPECT_EQ(row.labels, (Ints{8, 9, 5, 9, 6, 4}));
  EXPECT_EQ(row.loss_mask, Floats(6, 1.0f));
  EXPECT_EQ(row.position_ids, (Ints{0, 1, 2, 3, 4, 5}));
}

TEST(GptDataset, resets_at_the_end_of_documents) {
  const GptSampleOptions options{.seq_length = 6,
                                 .vocab_size = 10,
                                 .eod = 9,
                                 .reset_position_ids = true,
                                 .reset_attention_mask = true,
                                 .eod_mask_loss = true};
  const OwnedRow row = get_row(dataset({{7, 8, 9}, {5, 9}, {6, 4}}, options, 2, 1), 0);
  EXPECT_EQ(row.position_ids, (Ints{0, 1, 2, 0, 1, 0}));
  EXPECT_EQ(row.document_starts, (Ints{0, 0, 0, 3, 3, 5}));
  EXPECT_EQ(row.loss_mask, (Floats{1, 1, 0, 1, 0, 1}));  // where the input, not the label, is eod
}

TEST(GptDataset, each_option_alone) {
  GptSampleOptions options{.seq_length = 6, .vocab_size = 10, .eod = 9, .reset_attention_mask = true};
  const OwnedRow starts = get_row(dataset({{7, 8, 9}, {5, 9}, {6, 4}}, options, 2, 1), 0);
  EXPECT_EQ(starts.position_ids, (Ints{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(starts.document_starts, (Ints{0, 0, 0, 3, 3, 5}));
  EXPECT_EQ(starts.loss_mask, Floats(6, 1.0f));
  options = {.seq_length = 6, .vocab_size = 10, .eod = 9, .reset_position_ids = true};
  EXPECT_EQ(get_row(dataset({{7, 8, 9}, {5, 9}, {6, 4}}, options, 2, 1), 0).position_ids, (Ints{0, 1, 2, 0, 1, 0}));
}

TEST(GptDataset, padding_is_told_by_its_place) {
  const OwnedRow end = get_row(dataset({{7, 8, 9}}, {.seq_length = 4, .vocab_size = 10, .eod = 9}, 0, 2), 0);
  EXPECT_EQ(end.tokens, (Ints{7, 8, 9, 0}));
  EXPECT_EQ(end.labels, (Ints{8, 9, 0, 0}));
  EXPECT_EQ(end.loss_mask, (Floats{1, 1, 0, 0}));
  // Texts that were padded before they were tokenized: this padding is not learned, and stays unchanged.
  const OwnedRow inside = get_row(dataset({{7, 3, 8, 3, 6}}, {.seq_length = 4, .vocab_size = 10, .pad = 3}, 0, 4), 0);
  EXPECT_EQ(inside.tokens, (Ints{7, 3, 8, 3}));
  EXPECT_EQ(inside.labels, (Ints{3, 8, 3, 6}));
  EXPECT_EQ(inside.loss_mask, (Floats{0, 1, 0, 1}));
}

TEST(GptDataset, without_the_extra_token_the_last_label_is_missing) {
  const GptSampleOptions options{.seq_length = 4, .vocab_size = 10, .add_extra_token = false};
  const OwnedRow row = get_row(dataset({{7, 8, 9, 5}}, options, 0, 4), 0);
  EXPECT_EQ(row.tokens, (Ints{7, 8, 9, 5}));
  EXPECT_EQ(row.labels, (Ints{8, 9, 5, 0}));
  EXPECT_EQ(row.loss_mask, (Floats{1, 1, 1, 0}));
}

TEST(GptDataset, an_id_outside_the_vocabulary_is_named) {
  for (i32 bad : {10, 70000, -2}) {
    const GptDataset data = dataset({{7, 8}, {5, bad, 1}}, {.seq_length = 4, .vocab_size = 10}, 1, 2);
    const std::string text = error_of([&] { get_row(data, 0); });
    EXPECT_NE(text.find(fmt::format("list holds token {} at position 1 of document 1", bad)), std::string::npos)
        << text;
  }
  get_row(dataset({{7, 8}, {5, 70000, 1}}, {.seq_length = 4}, 1, 2), 0);  // unchecked
}

TEST(GptDataset, numbers_outside_are_errors) {
  const GptDataset data = dataset({{7, 8, 9}}, {.seq_length = 2}, 0, 2);
  EXPECT_NE(error_of([&] { get_row(data, 1); }), "");
  EXPECT_NE(error_of([&] { get_row(data, -1); }), "");
}

}  // namespace megalith
