// The user's data settings, and the number of samples that a run needs.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "data/samplers.h"
#include "data/split.h"

namespace megalith {

// Fill-in-the-middle: see data/fim.h.
struct FimConfig {
  bool on = false;
  double rate = 0.5;              // probability that a document is changed
  double spm_rate = 0.5;          // probability of the order suffix, prefix, middle
  std::string split_sample = {};  // token that separates fragments of a document; empty: documents are not split
  double fragment_rate = 0;       // probability that a fragment is changed
  std::string no_prefix = {};     // files with this prefix are not changed; empty: all are
  std::string prefix_token = "<fim_prefix>", middle_token = "<fim_middle>", suffix_token = "<fim_suffix>",
              pad_token = "<fim_pad>", eod_token = "<|endoftext|>";
};

struct DataConfig {
  std::vector<std::string> data_path = {};  // prefixes, or WEIGHT PREFIX pairs, divided by `split`
  std::vector<std::string> train_data_path = {}, valid_data_path = {},
                           test_data_path = {};  // alternative: one list for each split
  std::string data_args_path = {};               // alternative: a file with the items of data_path
  std::string per_split_data_args_path = {};     // alternative: a JSON file with a list for each split
  bool mock_data = false;                        // alternative: generated documents
  std::string split = {};                        // empty: "969, 30, 1", or "1,1,1" with mock data
  i64 seed = 1234;
  i64 seq_length = 0;

  i64 vocab_size = 0;                       // larger ids are refused; 0: unchecked
  i64 eod = -1;                             // id of end-of-document; -1: none
  i64 pad = -1;                             // id of padding; labels with it do not count; -1: none
  bool allow_ambiguous_pad_tokens = false;  // the padding id may be another special token, e.g. end-of-document
  bool reset_position_ids = false;
  bool reset_attention_mask = false;
  bool eod_mask_loss = false;
  bool add_extra_token = true;  // reads one token more, for the last label
  bool drop_last_partial_validation_sequence = true;
  bool multiple_validation_sets = false;  // each prefix of the validation set is a separate set
  std::vector<std::string> validation_set_names = {};
  double mid_level_dataset_surplus = 0.005;  // share of additional samples that are indexed of each dataset in a blend

  // The paths are files of chats (JSON lines). Only the assistant's turns count in the loss.
  bool sft = false;
  std::string sft_prompt_format = "nemotron-h-aligned";
  bool sft_packing = true;
  enum class TooLong { truncate, skip };
  TooLong sft_too_long = TooLong::truncate;
  bool sft_skip_bad_lines = false;
  std::string sft_date = "2024-07-26";  // the current date for chat templates that use it

  FimConfig fim = {};

  std::string retro_project_dir = {};  // directory of neighbours (retro/project.h); empty: none

  double mask_prob = 0.15;      // probability that a token is masked
  double short_seq_prob = 0.1;  // probability that a sample is shorter

  SamplerType dataloader_type = SamplerType::single;
  bool data_sharding = true;
  std::string data_order_file = {};                   // external only: a .npy file of sample indices
  std::shared_ptr<const SampleRanges> left_out = {};  // of the training set (--skip-samples); nullptr: none
  i64 num_workers = 2;                                // threads that read batches ahead; 0: batches are read on request

  std::string data_cache_path = {};  // empty: indices are not cached on disk
  // The tokenizer's path (empty: none) and arguments as Python prints them. They are in the names of cached indices.
  std::string tokenizer_path = {};
  std::vector<std::pair<std::string, std::string>> tokenizer_arguments = {};

  bool has_own_paths() const { return !train_data_path.empty() || !valid_data_path.empty() || !test_data_path.empty(); }
  // How many of the ways to give data are used; a run needs exactly one.
  int ways_to_name_data() const {
    return int(!data_path.empty()) + int(has_own_paths()) + int(mock_data) + int(!data_args_path.empty()) +
           int(!per_split_data_args_path.empty());
  }
};

// Samples of each split. Empty: one epoch. 0: the split is not needed.
struct SampleCounts {
  std::optional<i64> train = 0, valid = 0, test = 0;
  bool operator==(const SampleCounts&) const = default;
  std::optional<i64> of(Split s) const { return s == Split::train ? train : s == Split::valid ? valid : test; }
};

struct RunLength {
  i64 train_iters = 0;
  i64 train_samples = 0;  // 0: consumed_samples, and global_batch_size for each remaining iteration
  i64 global_batch_size = 1;
  i64 iteration = 0, consumed_samples = 0;  // at the start of this run
  i64 eval_interval = 1000;
  i64 eval_iters = 0;
  i64 eval_global_batch_size = 0;  // 0: global_batch_size
  i64 start_eval_at_iter = 0;
  bool skip_train = false;
  bool full_validation = false;
};

// train: the whole run. valid: all evaluations, including the one after the last step. test: one evaluation.
SampleCounts sample_counts(const RunLength& run);

}  // namespace megalith
