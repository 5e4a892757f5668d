// Transfers of a whole value to host memory and back. The pass offload-activations adds them. A leaf on the host holds
// the value in between.
#pragma once
#include "graph/builder.h"

namespace megalith {

// value, leaf -> value. The op also writes the value to the leaf, which is no result. Nodes that fetch it come later.
struct HostStore {
  static constexpr std::string_view name = "host_store";
  int lane = 0;
  void fields(auto&& v) const { v("lane", lane); }
  std::vector<Type> infer(const InferArgs& a) const {
    check(a.ins.size() == 2 && a.ins[0] == a.ins[1], "a value goes to a leaf of another type");
    return {a.ins[0]};
  }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types outs) const { return {0, total_bytes({}, outs)}; }
  std::vector<Alias> aliases() const { return {{.out = 0, .in = 0, .view = true}}; }
};

// leaf -> value
struct HostFetch {
  static constexpr std::string_view name = "host_fetch";
  int lane = 0;
  void fields(auto&& v) const { v("lane", lane); }
  std::vector<Type> infer(const InferArgs& a) const { return {a.ins.at(0)}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types outs) const { return {0, total_bytes({}, outs)}; }
};

}  // namespace megalith
