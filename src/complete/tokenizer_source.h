// The tokenizer of a command: of its flags, of its checkpoint, or in a model's directory.
#pragma once
#include <memory>
#include <string>

#include "models/config.h"
#include "resume/stored_model.h"
#include "tokens/tokenizer.h"

namespace megalith {

// The settings of the tokenizer of the flags, else of the checkpoint. Else those of tokenizer.json, or of vocab.json
// and merges.txt, in a hub directory. No type if there is none.
TokenizerConfig choose_tokenizer(const TokenizerConfig& flags, const StoredModel& stored, const std::string& dir);

// That tokenizer. nullptr if there is none.
std::unique_ptr<Tokenizer> find_tokenizer(const TokenizerConfig& flags, const StoredModel& stored,
                                          const std::string& dir);

// What options need of the tokenizer.
struct TokenizerSource {
  TokenizerConfig config{};  // its settings, as the run keeps them
  i64 entries = 0;           // of its vocabulary; 0: unknown
  std::string absent{};      // the missing file of a plan, if the vocabulary is public or given
  i64 eod = Tokenizer::kNone, pad = Tokenizer::kNone;
  bool pad_is_special = false;  // the padding is another special token too

  bool is_read() const { return entries > 0 && absent.empty(); }
};

struct VocabularyUse {
  Architecture architecture = Architecture::gpt;
  i64 vocab_size = 0;           // the model's; 0: the tokenizer's
  bool run_asks = false;        // the run itself makes the tokenizer
  bool files_may_lack = false;  // a plan needs the vocabulary's size only
};

// As Megatron's pretrain_gpt.py: GPT-2's files if no type is given. Error if its files cannot be read.
TokenizerSource read_tokenizer(const TokenizerConfig& flags, const StoredModel& stored, const std::string& dir,
                               const VocabularyUse& use);

}  // namespace megalith
