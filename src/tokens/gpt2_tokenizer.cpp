#include "tokens/gpt2_tokenizer.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/gpt2_split.h"
#include "tokens/word_cache.h"

namespace megalith {

namespace {

class Gpt2Encoder : public TextEncoder {
 public:
  // special: the text of the one special token, empty if it is to be read as plain text.
  Gpt2Encoder(const BpeMerges& merges, std::string_view special, i32 special_id)
      : bpe_(merges), special_(special), special_id_(special_id) {}

  void encode(std::string_view text, std::vector<i32>& out) override {
    while (!special_.empty()) {
      const size_t at = text.find(special_);
      if (at == std::string_view::npos) break;
      encode_plain(text.substr(0, at), out);
      out.push_back(special_id_);
      text.remove_prefix(at + special_.size());
    }
    encode_plain(text, out);
  }

 private:
  // The ids gather in a block of fixed size: growing `out` word by word would cost more than the words.
  void encode_plain(std::string_view text, std::vector<i32>& out) {
    const Gpt2Split split(text);
    const auto* bytes = reinterpret_cast<const u8*>(text.data());
    size_t count = 0;
    const auto flush = [&] {
      out.insert(out.end(), block_.begin(), block_.begin() + i64(count));
      count = 0;
    };
    for (size_t i = 0; i < text.size();) {
      const size_t end = split.piece_end(i), size = end - i;
      const size_t room = std::max(size, WordCache::kMostIds);  // a cached word copies all its places
      if (block_.size() - count < room) {
        flush();
        if (block_.size() < room) block_.resize(room);
      }
      count += encode_word(bytes + i, size, text.size() - i, block_.data() + count);
      i = end;
    }
    flush();
  }

  size_t encode_word(const u8* word, size_t size, size_t readable, i32* out) {
    if (size > WordCache::kLongestWord) return bpe_.encode(word, size, out);
    const WordCache::Key key = WordCache::key_of(word, size, readable);
    WordCache::Entry& entry = cache_.place_of(key);
    if (entry.key == key) [[likely]] {
      std::copy_n(entry.ids, WordCache::kMostIds, out);
      return entry.count;
    }
    const size_t count = bpe_.encode(word, size, out);
    if (count <= WordCache::kMostIds) {
      entry.key = key;
      entry.count = u32(count);
      std::copy_n(out, count, entry.ids);
    }
    return count;
  }

  BpeEncoder bpe_;
  WordCache cache_;
  std::vector<i32> block_ = std::vector<i32>(4096);
  std::string_view special_;
  i32 special_id_;
};

}  // namespace

Gpt2Tokenizer::Gpt2Tokenizer(BpeMerges merges, std::vector<std::string> token_bytes, i32 eod, bool special_in_text)
    : merges_(std::move(merges)), token_bytes_(std::move(token_bytes)), eod_(eod), special_in_text_(special_in_text) {}

std::unique_ptr<TextEncoder> Gpt2Tokenizer::encoder() const {
  return std::make_unique<Gpt2Encoder>(merges_, special_in_text_ ? kEndOfText : "", eod_);
}

std::string Gpt2Tokenizer::decode_bytes(std::span<const i32> ids) const {
  std::string out;
  for (i32 id : ids) {
    check(id >= 0 && id < vocab_size(), "token id {} is outside the vocabulary: want 0 to {}", id, vocab_size() - 1);
    out += token_bytes_[id];
  }
  return out;
}

}  // namespace megalith
