// Tokens and their ids, from the model of a tokenizer.json.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/byte_bpe.h"
#include "tokens/hf/json.h"

namespace megalith::hf {

class Vocabulary {
 public:
  static constexpr i32 kNone = -1;

  // {"token": id, ...}. Ids may have a few holes. Fails, naming `where`, if there are too many.
  static Vocabulary of_object(const Json& vocab, std::string_view where);

  i32 find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? kNone : found->second;
  }
  void add(std::string token, i32 id);                                 // of equal tokens the later one counts
  void append(std::string token);                                      // of a list, where equal tokens keep their ids
  i64 count() const { return std::max(i64(ids_.size()), appended_); }  // of tokens
  const std::vector<std::string>& tokens() const { return tokens_; }   // by id; empty in holes

 private:
  StringMap<i32> ids_;
  std::vector<std::string> tokens_;
  i64 appended_ = 0;
};

}  // namespace megalith::hf
