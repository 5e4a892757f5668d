#include "cli/golden/golden_file.h"

#include <cstring>

namespace megalith {
namespace {

template <class T>
std::vector<T> values_of(const TensorFiles& files, const TensorInfo& t) {
  std::vector<T> out(size_t(count(t.shape)));
  const std::vector<std::byte> bytes = files.read(t);
  check(bytes.size() == out.size() * sizeof(T), "{} has {} bytes, want {}", t.name, bytes.size(),
        out.size() * sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

template <class T>
std::vector<float> as_floats(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<float> GoldenFile::floats(const std::string& name) {
  const TensorInfo& t = files_.at(name);
  read_.insert(name);
  if (t.stored_type == "U8") return as_floats(values_of<unsigned char>(files_, t));
  if (t.stored_type == "I32") return as_floats(values_of<i32>(files_, t));
  if (t.stored_type == "I64") return as_floats(values_of<i64>(files_, t));
  return files_.read_f32(name);
}

std::vector<i32> GoldenFile::ints(const std::string& name) {
  const TensorInfo& t = files_.at(name);
  read_.insert(name);
  check(t.stored_type == "I32", "{} is {}, want I32", t.name, t.stored_type);
  return values_of<i32>(files_, t);
}

void GoldenFile::skip(const std::string& prefix) {
  for (const TensorInfo& t : files_.tensors())
    if (t.name.starts_with(prefix)) read_.insert(t.name);
}

Batch GoldenFile::batch(int i) {
  const auto ids = [&](const char* what) { return ints(fmt::format("batch{}.{}", i, what)); };
  Batch b;
  const Shape& shape = files_.at(fmt::format("batch{}.input_ids", i)).shape;
  b.sequences = shape.at(0), b.seq_length = shape.at(1);
  b.ints("tokens") = ids("input_ids"), b.ints("labels") = ids("targets");
  b.floats("loss_mask").assign(b.ints("tokens").size(), 1.0f);
  for (i64 k = 0; k < i64(b.ints("tokens").size()); ++k) b.ints("position_ids").push_back(i32(k % b.seq_length));
  for (i64 r = 0; r < b.sequences; ++r) b.longs("rows").push_back(r);
  return b;
}

std::vector<std::string> GoldenFile::unread() const {
  std::vector<std::string> out;
  for (const TensorInfo& t : files_.tensors())
    if (!read_.contains(t.name)) out.push_back(t.name);
  return out;
}

std::vector<std::string> GoldenFile::names(const std::string& prefix) const {
  std::vector<std::string> out;
  for (const TensorInfo& t : files_.tensors())
    if (t.name.starts_with(prefix)) out.push_back(t.name.substr(prefix.size()));
  return out;
}

}  // namespace megalith
