// JSON as values of templates.
#pragma once
#include <memory>
#include <string_view>

#include "tokens/chat/value.h"

namespace megalith::chat {

// Parses texts, and reuses its memory.
class JsonValues {
 public:
  JsonValues();
  ~JsonValues();
  // Fails with the reason. The caller adds the place.
  Value read(std::string_view json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace megalith::chat
