// Conversations as tokens: what --sft trains on.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct Conversations {
  std::string name;                   // the file
  std::vector<i32> tokens;            // tokens of all conversations, concatenated
  std::vector<u8> trained;            // for each token: 1 if the assistant wrote it, so it counts in the loss
  std::vector<i64> begins = {0};      // start of each conversation, and the end of the last
  i64 refused = 0;                    // number of skipped lines
  std::map<std::string, i64> unread;  // message fields that the template does not use, and how often they occur

  i64 size() const { return i64(begins.size()) - 1; }
  i64 length(i64 i) const { return begins[std::size_t(i) + 1] - begins[std::size_t(i)]; }
  std::span<const i32> tokens_of(i64 i) const {
    return std::span(tokens).subspan(std::size_t(begins[std::size_t(i)]), std::size_t(length(i)));
  }
  std::span<const u8> trained_of(i64 i) const {
    return std::span(trained).subspan(std::size_t(begins[std::size_t(i)]), std::size_t(length(i)));
  }
};

}  // namespace megalith
