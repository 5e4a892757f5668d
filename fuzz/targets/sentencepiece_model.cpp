// A SentencePiece .model with arbitrary bytes. If it loads, the target encodes a text.
#include <fmt/format.h>

#include "fuzz/target.h"
#include "fuzz/tools.h"

namespace megalith::fuzz::sentencepiece_model {

namespace {

std::string varint(u64 n) {
  std::string out;
  for (; n >= 128; n >>= 7) out += char((n & 127) | 128);
  return out + char(n);
}
std::string field(u64 number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string number(u64 field, u64 value) { return varint(field << 3) + varint(value); }

// ModelProto: pieces, trainer_spec with the type and byte_fallback, normalizer_spec with or without a table.
std::string sentencepiece_seed(u64 type, bool fallback, const std::string& table) {
  std::string model;
  const auto piece = [&](const std::string& text, float score, u64 kind) {
    std::string p = field(1, text) + varint(2 << 3 | 5) + std::string(reinterpret_cast<const char*>(&score), 4);
    model += field(1, p + number(3, kind));
  };
  piece("<unk>", 0, 2), piece("<s>", 0, 3), piece("</s>", 0, 3);
  if (fallback) {
    for (int b = 0; b < 256; ++b) piece(fmt::format("<0x{:02X}>", b), 0, 6);
  }
  float score = -1;
  for (const char* text : {"l", "o", "▁", "▁l", "lo", "▁lo", "the", "t", "h", "e", "th"}) piece(text, score--, 1);
  piece("world", 0, 4), piece("x", -3, 5);
  model += field(2, number(3, type) + number(35, fallback) + number(40, 0) + number(41, 1) + number(42, 2));
  return model + field(3, (table.empty() ? "" : field(2, table)) + number(3, 1) + number(4, 1) + number(5, 1));
}

// A normalizer table with one key: "a", repeated any number of times, becomes "b". It is a double array of 512 units.
// The children of the root are at 256 ^ byte. The children of 'a' are there too, and its value is at 256.
std::string charsmap_seed() {
  std::vector<u32> units(512);
  units[0] = 1u << 10 | 0x200;
  units[256 ^ 'a'] = u32('a') << 10 | 0x100 | 'a';
  units[256] = 0x80000000;
  const u32 size = u32(units.size() * sizeof(u32));
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) +
         std::string(reinterpret_cast<const char*>(units.data()), size) + std::string("b\0", 2);
}

}  // namespace

void feed(std::string_view input, const std::string& scratch) {
  write(scratch, input);
  use(*make_tokenizer({.type = "SentencePieceTokenizer", .tokenizer_model = scratch}), kText);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  const std::string table = charsmap_seed();
  for (u64 type : {1, 2, 3, 4}) all.push_back(sentencepiece_seed(type, type == 2, type == 1 ? table : ""));
  return all;
}

}  // namespace megalith::fuzz::sentencepiece_model
