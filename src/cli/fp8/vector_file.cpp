#include "cli/fp8/vector_file.h"

#include <algorithm>
#include <cstring>

namespace megalith::fp8 {
namespace {

template <class T>
constexpr const char* kStored = nullptr;
template <>
constexpr const char* kStored<u8> = "U8";
template <>
constexpr const char* kStored<i32> = "I32";
template <>
constexpr const char* kStored<float> = "F32";
template <>
constexpr const char* kStored<double> = "F64";
template <>
constexpr const char* kStored<bf16> = "BF16";

}  // namespace

std::vector<std::string> VectorFile::unread() const {
  std::vector<std::string> out;
  for (const TensorInfo& t : files_.tensors())
    if (!read_.contains(t.name)) out.push_back(t.name);
  return out;
}

std::vector<std::string> VectorFile::names(const std::string& prefix) const {
  std::vector<std::string> out;
  for (const TensorInfo& t : files_.tensors())
    if (t.name.starts_with(prefix)) out.push_back(t.name.substr(prefix.size()));
  return out;
}

std::vector<std::string> VectorFile::groups(const std::string& prefix) const {
  std::vector<std::string> out;
  for (const std::string& name : names(prefix)) {
    const std::string group = name.substr(0, name.find('/'));
    if (group.size() < name.size() && std::ranges::find(out, group) == out.end()) out.push_back(group);
  }
  return out;
}

const Shape& VectorFile::shape(const std::string& tensor, size_t dims) const {
  const TensorInfo& t = files_.at(tensor);
  check(t.shape.size() == dims && std::ranges::find(t.shape, 0) == t.shape.end(),
        "{}: tensor \"{}\" has shape {}: want {} dims, none of size 0", t.file, tensor, to_string(t.shape), dims);
  return t.shape;
}

const TensorInfo& VectorFile::at(const std::string& tensor, const char* stored_type, const Shape& shape) {
  const TensorInfo& t = files_.at(tensor);
  check(t.stored_type == stored_type && t.shape == shape, "{}: tensor \"{}\" is {} {}: want {} {}", t.file, tensor,
        t.stored_type, to_string(t.shape), stored_type, to_string(shape));
  read_.insert(tensor);
  return t;
}

void VectorFile::pass_over(const std::string& tensor) {
  files_.at(tensor);
  read_.insert(tensor);
}

template <class T>
std::vector<T> VectorFile::read(const std::string& tensor, const Shape& shape) {
  const std::vector<std::byte> bytes = files_.read(at(tensor, kStored<T>, shape));
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(static_cast<void*>(out.data()), bytes.data(), out.size() * sizeof(T));
  return out;
}

std::vector<float> VectorFile::read_halves(const std::string& tensor, const Shape& shape) {
  at(tensor, "F16", shape);
  return files_.read_f32(tensor);
}

template std::vector<u8> VectorFile::read(const std::string&, const Shape&);
template std::vector<i32> VectorFile::read(const std::string&, const Shape&);
template std::vector<float> VectorFile::read(const std::string&, const Shape&);
template std::vector<double> VectorFile::read(const std::string&, const Shape&);
template std::vector<bf16> VectorFile::read(const std::string&, const Shape&);

}  // namespace megalith::fp8
