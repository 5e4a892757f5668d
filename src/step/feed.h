// Moves a data-parallel rank's batch, row-major [b,s], into the plan's data leaves, [s,b]: of each
// sequence the positions that this context-parallel rank holds.
#pragma once
#include "base/batch.h"
#include "plan/interpreter.h"

namespace megalith {

class Feed {
 public:
  // `suffix`: of the leaves' names.
  Feed(const Plan& plan, Interpreter& interpreter, const Coord& coord, std::string suffix = "");
  // Into the leaves' copy `slot`. Error if the batch is not of the plan's size.
  void operator()(const Batch& batch, int slot = 0);

 private:
  template <class To, class From>
  void put(const char* leaf, const std::vector<From>& values, int slot);

  const Plan& plan_;
  Interpreter& interpreter_;
  std::string suffix_;
  i64 seq_ = 0, sequences_ = 0;  // sequences: of this rank; seq: 0 if there is no leaf for positions
  std::vector<i64> positions_;   // of a sequence, that this rank holds
  std::vector<std::byte> staging_;
};

}  // namespace megalith
