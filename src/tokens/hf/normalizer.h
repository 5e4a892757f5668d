// The changes that a tokenizer.json makes to the text before it is cut into pieces.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "tokens/hf/json.h"

namespace megalith::hf {

// Each thread needs its own.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // The normalized text: `text` itself, or memory of the normalizer that is valid until the next call. `text` is
  // valid UTF-8 unless keeps_bytes().
  virtual std::string_view apply(std::string_view text) = 0;
  // Whether invalid UTF-8 passes unchanged.
  virtual bool keeps_bytes() const { return false; }
};

// nullptr for null. Fails, naming `where`, on an unsupported normalizer.
std::unique_ptr<Normalizer> make_normalizer(const Json& spec, std::string_view where);

}  // namespace megalith::hf
