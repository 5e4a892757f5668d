// A read-only array, in its own memory or in a mapped file. Copies share the data.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/mapped_file.h"

namespace megalith {

template <class T>
class StoredArray {
 public:
  StoredArray() = default;
  StoredArray(std::vector<T> values) {  // NOLINT: a vector is one
    const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    values_ = *owner, owner_ = owner;
  }
  // The array from byte `offset`, a multiple of alignof(T), to the end of the file.
  StoredArray(std::shared_ptr<const MappedFile> file, i64 offset)
      : values_(reinterpret_cast<const T*>(file->bytes().data() + offset),
                std::size_t(file->size() - offset) / sizeof(T)),
        owner_(std::move(file)) {}

  std::span<const T> all() const { return values_; }
  const T& operator[](i64 i) const { return values_[std::size_t(i)]; }
  i64 size() const { return i64(values_.size()); }
  bool empty() const { return values_.empty(); }

 private:
  std::span<const T> values_;
  std::shared_ptr<const void> owner_;
};

}  // namespace megalith
