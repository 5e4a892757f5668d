#include "tokens/hf/vocabulary.h"

#include "base/check.h"

namespace megalith::hf {

void Vocabulary::add(std::string token, i32 id) {
  if (tokens_.size() <= size_t(id)) tokens_.resize(size_t(id) + 1);
  tokens_[size_t(id)] = token;
  ids_.insert_or_assign(std::move(token), id);
}

void Vocabulary::append(std::string token) {
  ++appended_;
  add(std::move(token), i32(tokens_.size()));
}

Vocabulary Vocabulary::of_object(const Json& vocab, std::string_view where) {
  Vocabulary v;
  const i64 most = 4 * i64(vocab.keys.size()) + 100'000;
  for (size_t i = 0; i < vocab.keys.size(); ++i) {
    const Json& id = vocab.items[i];
    const bool ok = id.kind == Json::Kind::number && id.number >= 0 && id.number < double(most) &&
                    id.number == double(i32(id.number));
    check(ok, "{}: the id of \"{}\" is not a whole number from 0 to {}", where, vocab.keys[i].substr(0, 60), most - 1);
    v.add(vocab.keys[i], i32(id.number));
  }
  return v;
}

}  // namespace megalith::hf
