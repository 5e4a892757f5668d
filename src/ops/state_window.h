// Update of state in host memory (--optimizer-cpu-offload). A window of the state is fetched, updated on the device and
// stored. The pass stream-state replaces Update by these ops.
//
// A window holds the state of some ranges of parameters: [main weights |] the states of the optimizer's rule, each in
// its stored type. Its type is [t, n], with the dtype of the first one. t runs over the ranks that hold different
// parts, n over one rank's memory.
#pragma once
#include <string>
#include <vector>

#include "ops/update.h"

namespace megalith {

struct Stretch {  // a range of elements of a leaf in a rank's memory
  i64 begin, count;
};

struct Window {
  std::vector<DType> types;  // types on the host, the same for all stretches: [main weights,] the rule's states
  std::vector<Stretch> stretches;

  static constexpr i64 kAlignment = 64;  // elements, at least 128 bytes; of offsets, and of ends of stretches
  int states() const { return int(types.size()); }
  i64 place(size_t stretch, int state) const;  // bytes from the begin of the window
  i64 bytes() const { return place(stretches.size(), 0); }
  std::string text() const;  // "3 x 0+4096 128+64"; of several types "f32 bf16 bf16 x 0+4096 128+64"
  // The type of the window over leaves like this one.
  Type type(const Mesh& mesh, const Type& leaf) const;
  // Error unless the leaves, states() of each stretch, can be cut into these stretches.
  void check_leaves(const Mesh& mesh, Types leaves) const;
};

// Leaves (states() of each stretch) -> window
struct FetchState {
  static constexpr std::string_view name = "fetch_state";
  int lane = 0;
  Window window;
  void fields(auto&& v) const { v("lane", lane), v("window", window.text()); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types outs) const { return {0, total_bytes({}, outs)}; }
};

// window, leaves -> window. The op also writes the leaves, which are no results: windows over other stretches of the
// same leaves may be in transfer at the same time.
struct StoreState {
  static constexpr std::string_view name = "store_state";
  int lane = 0;
  Window window;
  void fields(auto&& v) const { v("lane", lane), v("window", window.text()); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types outs) const { return {0, total_bytes({}, outs)}; }
  std::vector<Alias> aliases() const { return {{.out = 0, .in = 0, .view = true}}; }
};

// Update on a window. Inputs: window, scalars, step_scalars_in. Then for each stretch's parameter the full gradient and
// the full weights. Results: window, weights, all updated in place. `weights` is the copy in compute precision if the
// window has main weights; otherwise the weights themselves.
struct WindowUpdate {
  static constexpr std::string_view name = "window_update";
  UpdateRule rule;
  bool decay = true;
  Window window = {};
  void fields(auto&& v) const {
    list_rule(rule, v);
    v("decay", decay), v("window", window.text());
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
  std::vector<Alias> aliases() const;
  bool copy() const { return window.states() > states_of(rule); }
};

}  // namespace megalith
