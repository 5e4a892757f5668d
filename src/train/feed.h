// Moves a data-parallel rank's batch from the loader, row-major [b,s], into the plan's data leaves, [s,b]: of each
// sequence the positions that this context-parallel rank holds.
#pragma once
#include "data/loader.h"
#include "plan/interpreter.h"

namespace megalith {

class Feed {
 public:
  Feed(const Plan& plan, Interpreter& interpreter, const Coord& coord);
  // Error if the batch is not of the plan's size.
  void operator()(const Batch& batch);

 private:
  template <class To, class From>
  void put(const char* leaf, const std::vector<From>& values);

  const Plan& plan_;
  Interpreter& interpreter_;
  i64 seq_, sequences_;         // sequences: of this rank
  std::vector<i64> positions_;  // of a sequence, that this rank holds
  std::vector<std::byte> staging_;
};

}  // namespace megalith
