// A static graph as plain data: values with types, nodes in execution order. Knows no op by name.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/op.h"
#include "graph/origin.h"

namespace megalith {

// weights: what of the backward only adds to parameters' gradients, where that is run apart. All but update run once
// per micro-batch, update once per step.
enum class Phase : u8 { forward, backward, update, weights };
std::string_view name_of(Phase p);

// The purpose of a value; the memory plan sums bytes by it.
enum class Role : u8 { activation, input, parameter, main_parameter, gradient, optimizer, cache, scalar, kept, once };
std::string_view name_of(Role r);

// A named part of a leaf: leaves in which several parameters are packed keep each one's name.
struct LeafPart {
  std::string name;
  Shape shape;  // parts are consecutive and fill the leaf
};

// The position of a leaf within the memory of a larger one; no bucket: none.
struct InBucket {
  Value bucket;
  i64 element = 0;  // of the bucket's local memory
};

struct ValueInfo {
  Type type;
  std::string name = {};  // of leaves and outputs
  int node = -1;          // that computes it; -1: a leaf
  bool wants_grad = false;
  DType grad_dtype = DType::f32;  // of its cotangent: the value's own, but accumulation precision for parameters
  Role role = Role::activation;
  std::vector<LeafPart> parts = {};  // of a leaf; none: it is not packed
  InBucket bucket = {};              // of a leaf
  bool host = false;                 // of a leaf: it is in the host's memory
};

struct Node {
  AnyOp op;
  std::vector<Value> ins, outs;
  Phase phase;
  Origin origin = {};
  bool repeats = false;  // the backward recomputes its results from its inputs instead of keeping them (Builder::saved)
  bool first_only = false;  // runs in a step's first micro-batch only; the others read its results
};

struct Graph {
  Mesh mesh;
  std::vector<ValueInfo> values;
  std::vector<Node> nodes;
  std::map<std::string, Value> outputs;  // results that the step reads by name

  const Type& type(Value v) const { return values[v.id].type; }
  const ValueInfo& info(Value v) const { return values[v.id]; }
  Value find_leaf(const std::string& name) const;  // {} if there is none
};

// The arguments of an op's rules about its inputs. In the update phase everything is a constant.
InferArgs infer_args(const Graph& g, const std::vector<Value>& ins, Phase phase);

std::string print(const Graph& g);  // one line a node, types included
std::string print(const Graph& g, const Node& n);

// Throws at the first node that violates its op's rules. They are result types, order of definition, and one definition
// a value. An update in place has the same type, and nobody reads the old value afterwards.
void verify(const Graph& g);

}  // namespace megalith
