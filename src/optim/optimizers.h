// All optimizers with the settings of their flags, as a value.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class Optimizer;

class Optimizers {
 public:
  Optimizers();  // with their defaults
  Optimizers(const Optimizers& other);
  Optimizers(Optimizers&&) noexcept;
  Optimizers& operator=(Optimizers other) noexcept;
  ~Optimizers();
  bool operator==(const Optimizers& other) const;  // whether all flags have the same values

  i64 size() const { return i64(all_.size()); }
  Optimizer& at(i64 i) { return *all_[size_t(i)]; }
  const Optimizer& at(i64 i) const { return *all_[size_t(i)]; }
  const Optimizer& find(std::string_view name) const;  // Error if there is none
  std::vector<std::string> names() const;

 private:
  std::vector<std::unique_ptr<Optimizer>> all_;
};

}  // namespace megalith
