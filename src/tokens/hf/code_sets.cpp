#include "tokens/hf/code_sets.h"

#include <span>

#include "tokens/reference_sets.h"

namespace megalith::hf {

static CodeTable table_of(std::span<const CodeRange> ranges) {
  std::vector<u8> all(0x110000);
  for (const CodeRange& r : ranges) {
    for (u32 c = r.first; c <= r.last; ++c) all[c] = 1;
  }
  return CodeTable(all);
}

const CodeTable& bert_punctuation() {
  static const CodeTable table = table_of(kBertPunctuation);
  return table;
}
const CodeTable& bert_control() {
  static const CodeTable table = table_of(kBertControl);
  return table;
}
const CodeTable& bert_accents() {
  static const CodeTable table = table_of(kBertAccents);
  return table;
}
const CodeTable& combining_marks() {
  static const CodeTable table = table_of(kMarks);
  return table;
}

}  // namespace megalith::hf
