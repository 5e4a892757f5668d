// megalith inspect FILE.idx: the content of an indexed dataset, and one document as text.
#pragma once
#include <string>

#include "tokens/tokenizer.h"

namespace megalith {

// tokenizer.type "": prints ids. document counts from 0.
void print_index(const std::string& idx_path, const TokenizerConfig& tokenizer, i64 document);

}  // namespace megalith
