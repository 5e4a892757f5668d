// What a tokenizer.json does to the text before it is cut into pieces.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "tokens/hf/json.h"

namespace megalith::hf {

// One per thread.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // The normalized text: `text` itself, or what the normalizer holds until the next call. `text` is valid UTF-8 unless
  // keeps_bytes().
  virtual std::string_view apply(std::string_view text) = 0;
  // Whether bytes that are not UTF-8 pass unchanged.
  virtual bool keeps_bytes() const { return false; }
};

// nullptr for null. Fails, naming `where`, if there is a normalizer that we don't have.
std::unique_ptr<Normalizer> make_normalizer(const Json& spec, std::string_view where);

}  // namespace megalith::hf
