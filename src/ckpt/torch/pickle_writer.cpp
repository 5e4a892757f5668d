#include "ckpt/torch/pickle_writer.h"

#include <bit>
#include <limits>

namespace megalith {

void PickleWriter::integer(i64 value) {
  if (value >= 0 && value < 256) return put('K', u8(value));
  if (value >= std::numeric_limits<i32>::min() && value <= std::numeric_limits<i32>::max()) return put('J', i32(value));
  put('\x8a', u8(8));
  out_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void PickleWriter::real(double value) {
  const u64 bits = std::bit_cast<u64>(value);
  out_ += 'G';
  for (int shift = 56; shift >= 0; shift -= 8) out_ += char(bits >> shift);
}

void PickleWriter::text(std::string_view value) {
  put('X', u32(value.size()));
  out_ += value;
}

void PickleWriter::global(const std::string& module, const std::string& name) {
  const auto [it, added] = globals_.emplace(module + "." + name, u32(globals_.size()));
  if (!added) return put('j', it->second);
  out_ += "c" + module + "\n" + name + "\n";
  put('r', it->second);
}

void PickleWriter::list(const Body& items) {
  out_ += "](";
  items();
  out_ += 'e';
}

void PickleWriter::tuple(const Body& items) {
  out_ += '(';
  items();
  out_ += 't';
}

void PickleWriter::dict(const Body& entries) {
  out_ += "}(";
  entries();
  out_ += 'u';
}

void PickleWriter::call(const std::string& module, const std::string& name, const Body& args) {
  global(module, name);
  tuple(args);
  out_ += 'R';
}

void PickleWriter::object(const std::string& module, const std::string& name, const Body& state) {
  global(module, name);
  out_ += ")\x81";
  if (!state) return;
  state();
  out_ += 'b';
}

void PickleWriter::persistent(const Body& id) {
  tuple(id);
  out_ += 'Q';
}

void PickleWriter::sizes(std::span<const i64> values) {
  tuple([&] {
    for (const i64 v : values) integer(v);
  });
}

void PickleWriter::torch_size(std::span<const i64> values) {
  call("torch", "Size", [&] { sizes(values); });
}

}  // namespace megalith
