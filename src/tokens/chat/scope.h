// The variables that a place of a template sees: its own and those around it.
#pragma once
#include "tokens/chat/value.h"

namespace megalith::chat {

class Scope {
 public:
  explicit Scope(const Scope* around) : around_(around) {}

  const Value* find(std::string_view name) const {
    for (const Scope* s = this; s; s = s->around_)
      if (const Value* v = s->own_.find(name)) return v;
    return nullptr;
  }
  void set(std::string_view name, Value value) { own_.set(name, std::move(value)); }

 private:
  const Scope* around_;
  Dict own_;
};

}  // namespace megalith::chat
