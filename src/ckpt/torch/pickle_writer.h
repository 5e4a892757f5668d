// Writes pickles of protocol 2, as a stack machine's program in text order: a value's parts, then what binds them.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/dtype.h"

namespace megalith {

class PickleWriter {
 public:
  using Body = std::function<void()>;

  PickleWriter() : out_("\x80\x02") {}
  std::string finish() { return out_ + "."; }

  void none() { out_ += 'N'; }
  void boolean(bool value) { out_ += value ? '\x88' : '\x89'; }
  void integer(i64 value);
  void real(double value);
  void text(std::string_view value);
  void global(const std::string& module, const std::string& name);  // each name is written once
  void list(const Body& items);
  void tuple(const Body& items);
  void dict(const Body& entries);  // which writes keys and values in turn
  void call(const std::string& module, const std::string& name, const Body& args);
  // An instance made without arguments; `state` writes one value, which becomes its attributes.
  void object(const std::string& module, const std::string& name, const Body& state = {});
  void persistent(const Body& id);
  void sizes(std::span<const i64> values);       // a tuple
  void torch_size(std::span<const i64> values);  // a torch.Size

  void entry(std::string_view key, i64 value) { text(key), integer(value); }
  void entry(std::string_view key, double value) { text(key), real(value); }
  void entry(std::string_view key, std::string_view value) { text(key), text(value); }
  void flag(std::string_view key, bool value) { text(key), boolean(value); }

 private:
  template <class T>
  void put(char op, T value) {
    out_ += op;
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }

  std::string out_;
  std::unordered_map<std::string, u32> globals_;
};

}  // namespace megalith
