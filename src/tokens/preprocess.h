// preprocess-data: text files to Megatron's indexed datasets. Memory depends on the number of workers and the longest
// line, not on the size of the input; the output depends on neither.
#pragma once
#include <string>
#include <vector>

#include "tokens/tokenizer.h"

namespace megalith {

struct PreprocessConfig {
  // Files and patterns. Names end in .txt for text, one document per file; others hold one JSON object per line; .gz or
  // .zst behind either.
  std::vector<std::string> input;
  std::string output_prefix;  // writes <output_prefix>_<key>_document.{bin,idx}, or _sentence
  std::vector<std::string> json_keys = {"text"};
  bool append_eod = false;
  bool split_lines = false;              // of a .txt file each line that is not empty is a document
  bool split_sentences = false;          // each sentence is a sequence of its document
  bool keep_newlines = false;            // with split_sentences: keep the white space between sentences
  std::string lang = "english";          // with split_sentences: whose abbreviations are known
  int partitions = 1;                    // the order of documents as Megatron's partitions have it
  bool keep_sequential_samples = false;  // with partitions: the order of the input
  bool skip_bad_lines = false;           // name and count broken lines instead of failing
  int workers = 1;                       // threads
  i64 log_interval = 1000;               // documents between two lines of progress, which come once a second at most
  TokenizerConfig tokenizer;
};

struct PreprocessResult {
  i64 documents = 0;
  i64 tokens = 0;  // of all keys
  i64 bytes = 0;   // of input, unpacked
  i64 bad_lines = 0;
  double seconds = 0;
};

// Tells its progress on stderr. After an error, which names the file and the line, no output is left under its final
// name; what had that name before is untouched.
PreprocessResult preprocess(const PreprocessConfig& config);

}  // namespace megalith
