// The variables that are visible at a place of a template: local ones, and those of outer scopes.
#pragma once
#include <memory>

#include "tokens/chat/value.h"

namespace megalith::chat {

class Scope;
using ScopePtr = std::shared_ptr<Scope>;

class Scope : public std::enable_shared_from_this<Scope> {
 public:
  explicit Scope(ScopePtr around) : around_(std::move(around)) {}

  ScopePtr inner() { return std::make_shared<Scope>(shared_from_this()); }

  const Value* find(std::string_view name) const {
    for (const Scope* s = this; s; s = s->around_.get())
      if (const Value* v = s->own_.find(name)) return v;
    return nullptr;
  }
  void set(std::string_view name, Value value) { own_.set(name, std::move(value)); }

 private:
  ScopePtr around_;
  Dict own_;
};

}  // namespace megalith::chat
