// Moves a data-parallel rank's batch, row-major [b,s], into the plan's data leaves, [s,b]: of each sequence the
// positions that this context-parallel rank holds. Arrays may have sequences of different lengths, and other numbers of
// them.
#pragma once
#include "base/batch.h"
#include "models/model.h"
#include "plan/interpreter.h"

namespace megalith {

class Feed {
 public:
  // `inputs`: the model's inputs; `suffix`: of the leaves' names.
  Feed(const Plan& plan, const std::vector<DataInput>& inputs, Interpreter& interpreter, const Coord& coord,
       std::string suffix = "");
  // Writes to the leaves' slot `slot`. Error if an array is missing, or has another size than in the plan.
  void operator()(const Batch& batch, int slot = 0);

 private:
  struct Target {
    std::string array;
    const Leaf* leaf;
    bool required;
    std::function<Batch::Array(const Batch&)> make;
    i64 sequences = 0;           // of this rank in this array
    i64 seq = 1;                 // positions of a sequence in this array
    std::vector<i64> positions;  // those of them that this rank holds; none: one value per sequence
  };
  template <class T>
  void put(const Target& to, const std::vector<T>& values, int slot);

  Interpreter& interpreter_;
  std::vector<Target> targets_;
  std::vector<std::byte> staging_;
};

}  // namespace megalith
