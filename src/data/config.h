// What the user says about the data, and how many samples a run asks for.
#pragma once
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
  double rate = 0.5;              // of the documents that are changed
  double spm_rate = 0.5;          // of these, in the order suffix, prefix, middle
  std::string split_sample = {};  // the token between the fragments of a document; empty: documents stay whole
  double fragment_rate = 0;       // of the fragments that are changed
  std::string no_prefix = {};     // data in files with this prefix is left unchanged; empty: none
  std::string prefix_token = "<fim_prefix>", middle_token = "<fim_middle>", suffix_token = "<fim_suffix>",
              pad_token = "<fim_pad>", eod_token = "<|endoftext|>";
};

struct DataConfig {
  std::vector<std::string> data_path = {};  // prefixes, or WEIGHT PREFIX pairs, cut by `split`
  std::vector<std::string> train_data_path = {}, valid_data_path = {},
                           test_data_path = {};  // instead: one list per split
  std::string data_args_path = {};               // instead: a file with the items of data_path
  std::string per_split_data_args_path = {};     // instead: a JSON file with a list for each split
  bool mock_data = false;                        // instead: made-up documents
  std::string split = {};                        // empty: "969, 30, 1", or "1,1,1" with mock data
  i64 seed = 1234;
  i64 seq_length = 0;

  i64 vocab_size = 0;                       // ids from here on are refused; 0: unchecked
  i64 eod = -1;                             // end of document, -1: none
  i64 pad = -1;                             // padding of texts, whose labels do not count, -1: none
  bool allow_ambiguous_pad_tokens = false;  // padding may be another special token too, e.g. the end of document
  bool reset_position_ids = false;
  bool reset_attention_mask = false;
  bool eod_mask_loss = false;
  bool add_extra_token = true;  // read one token more, for the last label
  bool drop_last_partial_validation_sequence = true;
  bool multiple_validation_sets = false;  // each prefix of the validation set is a set of its own
  std::vector<std::string> validation_set_names = {};
  double mid_level_dataset_surplus = 0.005;  // how much more of each dataset of a blend is indexed

  // The paths are files of chats (JSON lines), of which the assistant's turns are learned.
  bool sft = false;
  std::string sft_prompt_format = "nemotron-h-aligned";
  bool sft_packing = true;
  enum class TooLong { truncate, skip };
  TooLong sft_too_long = TooLong::truncate;
  bool sft_skip_bad_lines = false;
  std::string sft_date = "2024-07-26";  // that templates which ask for it are told

  FimConfig fim = {};

  std::string retro_project_dir = {};  // of neighbours (retro/project.h); empty: none

  double mask_prob = 0.15;      // of a token of a masked sample to be predicted
  double short_seq_prob = 0.1;  // of such a sample to be a shorter one

  SamplerType dataloader_type = SamplerType::single;
  bool data_sharding = true;
  std::string data_order_file = {};  // external only: a .npy of sample numbers
  i64 num_workers = 2;               // threads that read batches ahead; 0: they are read when asked for

  std::string data_cache_path = {};  // empty: indices are not kept on disk
  // What the tokenizer was given, for the names of cached indices: path (empty: none) and arguments as Python prints
  // them.
  std::string tokenizer_path = {};
  std::vector<std::pair<std::string, std::string>> tokenizer_arguments = {};

  bool has_own_paths() const { return !train_data_path.empty() || !valid_data_path.empty() || !test_data_path.empty(); }
  // How many of the ways to name data are used: a run needs one.
  int ways_to_name_data() const {
    return int(!data_path.empty()) + int(has_own_paths()) + int(mock_data) + int(!data_args_path.empty()) +
           int(!per_split_data_args_path.empty());
  }
};

// Samples per split; nothing: one epoch. 0: the split is not needed.
struct SampleCounts {
  std::optional<i64> train = 0, valid = 0, test = 0;
  bool operator==(const SampleCounts&) const = default;
  std::optional<i64> of(Split s) const { return s == Split::train ? train : s == Split::valid ? valid : test; }
};

struct RunLength {
  i64 train_iters = 0;
  i64 train_samples = 0;  // 0: those consumed, and global_batch_size for each iteration left
  i64 global_batch_size = 1;
  i64 iteration = 0, consumed_samples = 0;  // where it begins
  i64 eval_interval = 1000;
  i64 eval_iters = 0;
  i64 eval_global_batch_size = 0;  // 0: global_batch_size
  i64 start_eval_at_iter = 0;
  bool skip_train = false;
  bool full_validation = false;
};

// train: the whole run; valid: every evaluation, also the one after the last step; test: one evaluation.
SampleCounts sample_counts(const RunLength& run);

}  // namespace megalith
