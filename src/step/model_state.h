// A planned model in an interpreter's memory, seen as logical tensors: what starts it, loads it and saves it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "optim/update.h"
#include "step/step.h"

namespace megalith {

// One tensor of the model's state as checkpoints store it: f32, even if the optimizer keeps it in bf16; untrained
// tensors in their own dtype. Padding rows of the vocabulary follow the real ones and are excluded.
struct StateTensor {
  std::string name;  // "decoder...weight", "optimizer.exp_avg.decoder...weight"
  Shape shape;       // true sizes
  const Parameter* parameter;
  bool is_weight;      // of the weights: trained, or kept with them
  std::string suffix;  // of its leaf: kMainSuffix, or the optimizer's
  bool is_trained = true;
  DType dtype() const { return is_trained ? DType::f32 : parameter->type.dtype; }
};

// A box of a tensor that this rank holds: row-major, consecutive in a leaf's memory. The leaf of a main weight may come
// with the same elements in compute precision. If the main weight is u16, it holds the low bits that those lack of f32
// (main_type); if f32, they are a copy.
struct StatePiece {
  const Leaf* leaf;
  const Leaf* beside;        // or nullptr
  i64 begin;                 // element of the leaf's local block
  Shape offset, shape;       // in the tensor
  DType dtype = DType::f32;  // of the tensor in files
};

// How ranks share the saving of a block that all of them hold: in units of rows of `row` elements. Rank k of n starts
// at row rows * k / n.
struct RowsToShare {
  i64 rows, row;
};
RowsToShare rows_to_share(const Type& local, i64 holders);

// The weights in bf16 and what those lack, of a piece's first element on.
struct SplitView {
  const std::byte *bf16_half = nullptr, *low_half = nullptr;
  explicit operator bool() const { return bf16_half && low_half; }
};

class ModelState {
 public:
  static constexpr i64 kJoinedAtOnce = i64{1} << 20;  // on a device: elements for which read() needs 4 bytes each

  ModelState(const PlannedStep& step, Interpreter& interpreter, const Coord& coord = {});

  void initialise(u64 seed);  // every parameter drawn by name and global index
  void forget_moments();      // as before anything was written: zeros
  void finish();              // after the last write, on all ranks: weights in compute precision are everywhere

  bool has(const std::string& name) const { return names_.contains(name); }
  bool is_stage() const { return step_.pipeline.has_value(); }          // a pipeline's: only part of the model is here
  const std::vector<StateTensor>& tensors() const { return tensors_; }  // weights first, then optimizer state

  // All that this rank holds of a tensor, in disjoint boxes.
  std::vector<StatePiece> pieces(const StateTensor& t) const;
  // The boxes that this rank saves: together the ranks save every element once. Ranks that hold the same elements share
  // them equally; without `shared` the first of them saves all.
  std::vector<StatePiece> saved_pieces(const StateTensor& t, bool shared) const;

  // Reads or writes elements of a box from `begin` on, in its order and dtype. Writing also updates the copy in compute
  // precision. Several threads may write, each to its own elements. Values kept in bf16 are rounded to nearest;
  // optimizer state rounds ties to even. A box can be read after the earlier steps are finished.
  void write(const StatePiece& piece, i64 begin, std::span<const std::byte> values);
  void read(const StatePiece& piece, i64 begin, std::span<std::byte> out) const;
  // The same of a piece in f32.
  void write(const StatePiece& piece, i64 begin, std::span<const float> values);
  void read(const StatePiece& piece, i64 begin, std::span<float> out) const;
  // Its memory if the host can access it in its dtype, else nullptr. Direct writes are valid only if there is no copy
  // to update.
  std::byte* host_view(const StatePiece& piece) const;
  bool on_host() const;  // all of the state is where the host can see it
  // For weights kept in two parts, both visible to the host.
  SplitView split_view(const StatePiece& piece) const;
  Interpreter& interpreter() const { return interpreter_; }

  // This rank's share of the sum of all weights' squares: an element counts on the first of the ranks that hold it. It
  // reads them all. A step's own result: StepResult::params_norm.
  double squares() const;

 private:
  struct Place {  // of a rank's elements of a parameter's local block
    const Leaf *leaf, *beside;
    i64 begin;         // their position in the leaf
    i64 first, count;  // elements of the block, row-major
  };
  Place place_of(const StateTensor& t) const;
  std::vector<StatePiece> boxes(const StateTensor& t, const Place& place) const;
  // For `take main`: this rank has the value; other ranks add zero.
  bool gives_values(const Leaf& gradient) const;
  bool counts_elsewhere(const Parameter& p) const;  // on the pipeline's first stage
  void run(const std::string& program) const;
  void initialise_untrained(const Parameter& p, u64 seed);
  void initialise_parts(u64 seed);  // of buckets whose weights cannot be drawn into the gradients' memory
  // The part of the value that T can represent: bf16 or f16.
  template <class T>
  void read_narrow(const StatePiece& piece, i64 begin, std::span<float> out) const;
  void write_elements(const Leaf& leaf, i64 begin, std::span<const float> values);

  const PlannedStep& step_;
  Interpreter& interpreter_;
  Coord coord_;
  std::vector<StateTensor> tensors_;
  std::unordered_set<std::string> names_;
};

}  // namespace megalith
