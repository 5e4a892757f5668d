// preprocess-data: converts text files to Megatron's indexed datasets. Memory depends on the number of workers and
// the longest line, not on the input's size. The output depends on neither.
#pragma once
#include <string>
#include <vector>

#include "tokens/tokenizer.h"

namespace megalith {

struct PreprocessConfig {
  // Files and patterns. *.txt is text, one document per file. Others hold one JSON object per line. Either may end in
  // .gz or .zst.
  std::vector<std::string> input;
  std::string output_prefix;  // writes <output_prefix>_<key>_document.{bin,idx}, or _sentence
  std::vector<std::string> json_keys = {"text"};
  bool append_eod = false;
  bool split_lines = false;              // each non-empty line of a .txt file is a document
  bool split_sentences = false;          // each sentence is a sequence of its document
  bool keep_newlines = false;            // with split_sentences: keep white space between sentences
  std::string lang = "english";          // with split_sentences: the language of known abbreviations
  int partitions = 1;                    // documents in the order of Megatron's partitions
  bool keep_sequential_samples = false;  // with partitions: documents in the order of the input
  bool skip_bad_lines = false;           // report and count broken lines instead of failing
  int workers = 1;                       // threads
  i64 log_interval = 1000;  // documents between two progress lines, of which there is at most one per second
  TokenizerConfig tokenizer;
};

struct PreprocessResult {
  i64 documents = 0;
  i64 tokens = 0;  // of all keys
  i64 bytes = 0;   // of input, decompressed
  i64 bad_lines = 0;
  double seconds = 0;
};

// Reports progress on stderr. An error names the file and the line. After it no output has its final name, and existing
// files are unchanged.
PreprocessResult preprocess(const PreprocessConfig& config);

}  // namespace megalith
