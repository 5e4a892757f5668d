// JSON as the values of templates.
#pragma once
#include <memory>
#include <string_view>

#include "tokens/chat/value.h"

namespace megalith::chat {

// Parses texts one after another in the same memory.
class JsonValues {
 public:
  JsonValues();
  ~JsonValues();
  // Fails with what is wrong but not where: the caller knows.
  Value read(std::string_view json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace megalith::chat
