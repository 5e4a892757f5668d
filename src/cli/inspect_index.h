// megalith inspect FILE.idx: what an indexed dataset holds, and one document of it as text.
#pragma once
#include <string>

#include "tokens/tokenizer.h"

namespace megalith {

// tokenizer.type "": the document is shown as ids. document counts from 0.
void print_index(const std::string& idx_path, const TokenizerConfig& tokenizer, i64 document);

}  // namespace megalith
