// Input of preprocess-data. The first byte selects its kind. The other bytes are the file.
#include "fuzz/target.h"
#include "fuzz/tools.h"
#include "tests/harness/packed.h"
#include "tokens/document_encoder.h"

namespace megalith::fuzz::jsonl {

namespace {

constexpr std::string_view kNames[] = {".jsonl", ".txt", ".jsonl.gz", ".jsonl.zst"};
constexpr u8 kSentences = 0x10, kNewlines = 0x20, kSkip = 0x40, kLines = 0x80;

}  // namespace

void feed(std::string_view input, const std::string& scratch) {
  static const auto tokenizer = make_tokenizer({.type = "ByteTokenizer"});
  if (input.empty()) return;
  const u8 kind = u8(input[0]);
  const std::string file = scratch + std::string(kNames[kind % std::size(kNames)]);
  write(file, input.substr(1));
  InputReader reader({file}, kind & kLines, JsonObject::kPadding);
  DocumentEncoder encoder(*tokenizer, {.keys = {"text"},
                                       .eod = tokenizer->eod(),
                                       .split_sentences = (kind & kSentences) != 0,
                                       .keep_newlines = (kind & kNewlines) != 0,
                                       .skip_bad_lines = (kind & kSkip) != 0});
  InputChunk chunk;
  EncodedChunk out;
  while (reader.next(chunk)) {
    encoder.encode(chunk, out);
    size_t tokens = 0, sequences = 0;
    for (i32 length : out.keys[0].lengths) tokens += size_t(length);
    for (i32 count : out.keys[0].sequences) sequences += size_t(count);
    expect(tokens == out.keys[0].tokens.size(), "lengths do not add up");
    expect(sequences == out.keys[0].lengths.size(), "sequences do not add up");
    for (i32 id : out.keys[0].tokens) expect(id >= 0 && id <= 256, "an id is outside the vocabulary");
  }
}

std::vector<std::string> seeds() {
  const std::string lines =
      "{\"text\": \"One \\u00e9\\n\\ud83d\\ude00 two. Dr. No said: 'Yes!' U.S. law\"}\n"
      "{\"id\": [1, -2.5e3, null, true], \"text\": [\"a.\", \"\xE4\xB8\xAD\xE3\x80\x82\xE6\x96\x87\"]}\n";
  std::vector<std::string> all;
  for (u8 flags : {0, 1, 0x10, 0x11, 0x31, 0x30, 0x81, 0x91, 0x40}) all.push_back(char(flags) + lines);
  all.push_back(char(2) + gzipped(lines));
  all.push_back(char(3) + zstd_packed(lines));
  return all;
}

}  // namespace megalith::fuzz::jsonl
