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

struct DataConfig {
  std::vector<std::string> data_path = {};  // prefixes, or WEIGHT PREFIX pairs, cut by `split`
  std::vector<std::string> train_data_path = {}, valid_data_path = {},
                           test_data_path = {};  // instead: one list per split
  bool mock_data = false;                        // instead: made-up documents
  std::string split = {};                        // empty: "969, 30, 1", or "1,1,1" with mock data
  i64 seed = 1234;
  i64 seq_length = 0;

  i64 vocab_size = 0;  // ids from here on are refused; 0: unchecked
  i64 eod = -1;        // end of document, -1: none
  i64 pad = -1;        // padding, -1: none
  bool reset_position_ids = false;
  bool reset_attention_mask = false;
  bool eod_mask_loss = false;
  bool add_extra_token = true;  // read one token more, for the last label
  bool drop_last_partial_validation_sequence = true;
  double mid_level_dataset_surplus = 0.005;  // how much more of each dataset of a blend is indexed

  SamplerType dataloader_type = SamplerType::single;
  bool data_sharding = true;
  i64 num_workers = 2;  // 0: batches are read when asked for; else one is read ahead

  std::string data_cache_path = {};  // empty: indices are not kept on disk
  // What the tokenizer was given, for the names of cached indices: path (empty: none) and arguments as Python prints
  // them.
  std::string tokenizer_path = {};
  std::vector<std::pair<std::string, std::string>> tokenizer_arguments = {};
};

// Samples per split; nothing: one epoch. 0: the split is not needed.
struct SampleCounts {
  std::optional<i64> train = 0, valid = 0, test = 0;
  std::optional<i64> of(Split s) const { return s == Split::train ? train : s == Split::valid ? valid : test; }
};

struct RunLength {
  i64 train_iters = 0;
  i64 train_samples = 0;  // 0: train_iters * global_batch_size
  i64 global_batch_size = 1;
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
