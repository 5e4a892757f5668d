// The sets of reference_sets.h as tables: 1 for each code point in the set.
#pragma once
#include "tokens/unicode.h"

namespace megalith::hf {

const CodeTable& bert_punctuation();
const CodeTable& bert_control();
const CodeTable& bert_accents();
const CodeTable& combining_marks();

}  // namespace megalith::hf
