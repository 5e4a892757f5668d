// The only op that moves data between ranks, and the ones() that start the reverse walk. All others work on a rank's
// own blocks.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Relayout {  // x -> x, in another layout
  static constexpr std::string_view name = "relayout";
  AxisSet axes;
  State from, to;
  Order from_order = Order::block, order = Order::block;
  Transfer transfer = Transfer::none;
  // 0: complete when the node is. Others: the node starts it in a separate queue, and a Wait ends it; work between the
  // two overlaps it.
  int lane = 0;
  bool in_place = false;         // a reduction of a leaf that nobody reads afterwards: the result is in its memory
  bool into = false;             // (x, leaf): the result becomes the leaf's value
  std::vector<int> stages = {};  // over pp: between these stages only; none: all
  int from_rotated = 0, rotated = 0;

  void fields(auto&& v) const {
    v("axes", axes), v("from", to_string(from)), v("to", to_string(to)), v("by", name_of(transfer));
    if (lane) v("lane", lane);
    if (in_place) v("in_place", true);
    if (into) v("into", true);
    if (!stages.empty()) v("stages", fmt::format("{}", fmt::join(stages, " ")));
    if (rotated || from_rotated) v("rotated", fmt::format("{} to {}", from_rotated, rotated));
    if (order == Order::zigzag || from_order == Order::zigzag) v("zigzag", order == Order::zigzag ? "to" : "from");
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const;
  std::vector<Alias> aliases() const;
  // The ranks that the one at `coord` exchanges with, itself included, in the mesh's order.
  std::vector<int> group(const Mesh& mesh, const Coord& coord) const;
};

// The end of a relayout on a lane: Wait(y, x) -> y. After it y may be read. Until then neither x nor y may be reused.
// (Without x if the result is in x's memory.) If y is a leaf, another program started the transfer into it.
struct Wait {
  static constexpr std::string_view name = "wait";
  void fields(auto&&) const {}
  std::vector<Type> infer(const InferArgs& a) const { return {a.ins.at(0)}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types) const { return {}; }
  std::vector<Alias> aliases() const { return {{.out = 0, .in = 0, .view = true}}; }
};

// A value that differs between pipeline stages, as a term of the sum over stages. Its type cannot express this.
struct StageTerm {
  static constexpr std::string_view name = "stage_term";
  void fields(auto&&) const {}
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types) const { return {}; }
  std::vector<Alias> aliases() const { return {{.out = 0, .in = 0, .view = true}}; }
};

// Many leaves as the bucket that contains them: bucket, leaves... -> bucket. Moves no data; states that the leaves are
// complete.
struct JoinBucket {
  static constexpr std::string_view name = "join_bucket";
  void fields(auto&&) const {}
  std::vector<Type> infer(const InferArgs& a) const { return {a.ins.at(0)}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types) const { return {}; }
  std::vector<Alias> aliases() const { return {{0, 0, true}}; }
};

// A value written to a leaf's memory in its element type, rounded to nearest even: a sum made in lower precision
// returns to its terms' leaf, and state to its own. x, leaf -> x. The leaf may not be read afterwards.
struct PutBack {
  static constexpr std::string_view name = "put_back";
  void fields(auto&&) const {}
  std::vector<Type> infer(const InferArgs& a) const {
    return {{a.ins.at(1).dtype, a.ins.at(0).shape, a.ins.at(0).layout}};
  }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins.first(1), outs)}; }
  std::vector<Alias> aliases() const { return {{0, 1, true}}; }
};

struct Ones {  // -> a constant 1 on every rank, also where the type is a partial sum's dual
  static constexpr std::string_view name = "ones";
  Type type;
  void fields(auto&& v) const { v("type", type); }
  std::vector<Type> infer(const InferArgs&) const { return {type}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

struct AddGrad {  // two cotangents of one value: a + b, same type
  static constexpr std::string_view name = "add_grad";
  int ndim = 0;
  void fields(auto&& v) const { v("ndim", ndim); }
  LayoutRule rule() const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}, {0, 1}}; }
};

// "abcd" for a value of four dims, for rules of elementwise ops.
std::string letters(int ndim);

}  // namespace megalith
