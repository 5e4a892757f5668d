// What fuzzing feeds: files of tokenizers and texts, in one input whose first byte says which. Used by fuzz_test.cpp,
// which mutates seeds by itself, and by fuzz/tokens_fuzz.cpp for libFuzzer.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

enum class FuzzTarget : u8 { tokenizer_json, sentencepiece_model, ranks, megatron_ranks, gpt2_files, text, end };

// Loads or encodes; anything but success or an Error of one line is a finding (a crash, or std::logic_error thrown
// here). `file`: a path that may be overwritten.
bool fuzz_one(std::string_view input, const std::string& file);

// Small inputs to start from, one or more per target, each component of a tokenizer.json in some.
std::vector<std::string> fuzz_seeds();

}  // namespace megalith
