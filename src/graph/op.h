// An op is one plain struct: attributes as members; its rules as functions. The concept Op is the checklist; AnyOp
// holds any of them.
//
//   struct Gelu {
//     static constexpr std::string_view name = "gelu";
//     void fields(auto&& v) const {...}                      attributes, for printing and comparing: v("eps", eps)
//     LayoutRule rule() const;                               shape and layout rule; or infer(), for the few that
//     letters can't describe std::vector<DType> dtypes(Types ins) const;            optional: of the results; default:
//     the first input's std::vector<Value> grad(Builder&, const Node&, std::span<const Value> dys) const;   one per
//     input, {} for none Cost cost(Types ins, Types outs) const;                of one rank: the types are local
//     std::vector<Alias> aliases() const;                    optional: results that may or must share an input's memory
//     int lane;                                              optional, a member: begun on this queue and ended by a
//     Wait, unless it is 0
//     static constexpr bool differentiable = false;          optional: its results are constants to the reverse walk
//     static constexpr bool repeats = true;                  optional: the backward makes its one result again from its
//     inputs rather than keep it (Builder::saved)
//   };
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/type.h"
#include "mesh/rule.h"

namespace megalith {

class Builder;
struct Node;

// A handle of a value in a graph; empty when id < 0.
struct Value {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};

struct Cost {
  double flops = 0, bytes = 0;  // bytes read and written if every operand moves once
};

// Result `out` may reuse the memory of input `in` if that has no later reader; `must`: it is updated in place; `view`:
// the same memory, unchanged, so both may be read while either is live.
struct Alias {
  int out, in;
  bool must = false, view = false;
};

using Types = std::span<const Type>;

double total_bytes(Types ins, Types outs);

struct InferArgs {
  const Mesh& mesh;
  std::vector<Type> ins;
  std::vector<bool> wants_grad;
  std::vector<Operand> operands() const;
};

template <class T>
concept Op = requires(const T& op, Builder& b, const Node& n, std::span<const Value> dys, Types types) {
  { T::name } -> std::convertible_to<std::string_view>;
  { op.grad(b, n, dys) } -> std::same_as<std::vector<Value>>;
  { op.cost(types, types) } -> std::same_as<Cost>;
  requires requires {
    { op.rule() } -> std::same_as<LayoutRule>;
  } || requires(const InferArgs& a) {
    { op.infer(a) } -> std::same_as<std::vector<Type>>;
  };
};

// Writes "name(eps=1e-05, spec=ab->b)". `used`: the axes that count, where axes are named.
class FieldPrinter {
 public:
  explicit FieldPrinter(AxisSet used) : used_(used) {}
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if constexpr (std::is_same_v<T, AxisSet> || std::is_same_v<T, Type>)
      (*this)(name, to_string(value, used_));
    else
      text_ += fmt::format("{}{}={}", text_.empty() ? "" : ", ", name, value);
  }
  const std::string& text() const { return text_; }

 private:
  AxisSet used_;
  std::string text_;
};

std::vector<Type> infer_by_rule(const LayoutRule& rule, const InferArgs& a, const std::vector<DType>& dtypes);

class AnyOp {
 public:
  template <Op T>
  AnyOp(T op) : it_(std::make_shared<Model<T>>(std::move(op))) {}  // NOLINT: implicit, an op is a node's op

  std::string_view name() const { return it_->name(); }
  std::string print(AxisSet used = kAllAxes) const { return it_->print(used); }
  std::vector<Type> infer(const InferArgs& a) const { return it_->infer(a); }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const { return it_->grad(b, n, dys); }
  Cost cost(Types ins, Types outs) const { return it_->cost(ins, outs); }
  std::vector<Alias> aliases() const { return it_->aliases(); }
  int lane() const { return it_->lane(); }  // 0: completes with the node; others: starts there, ended by a Wait
  bool repeats() const { return it_->repeats(); }
  // Whether results want a gradient because input i does.
  bool passes_grad(int i) const { return it_->passes_grad(i); }

  template <class T>
  const T* get_if() const {
    return name() == T::name ? &static_cast<const Model<T>*>(it_.get())->op : nullptr;
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual std::string_view name() const = 0;
    virtual std::string print(AxisSet used) const = 0;
    virtual std::vector<Type> infer(const InferArgs&) const = 0;
    virtual std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const = 0;
    virtual Cost cost(Types, Types) const = 0;
    virtual std::vector<Alias> aliases() const = 0;
    virtual int lane() const = 0;
    virtual bool repeats() const = 0;
    virtual bool passes_grad(int i) const = 0;
  };
  template <class T>
  struct Model final : Base {
    T op;
    explicit Model(T o) : op(std::move(o)) {}
    std::string_view name() const override { return T::name; }
    std::string print(AxisSet used) const override {
      FieldPrinter p(used);
      if constexpr (requires { op.fields(p); }) op.fields(p);
      return p.text().empty() ? std::string(T::name) : fmt::format("{}({})", T::name, p.text());
    }
    std::vector<Type> infer(const InferArgs& a) const override {
      if constexpr (requires { op.infer(a); }) {
        return op.infer(a);
      } else {
        std::vector<DType> dtypes;
        if constexpr (requires { op.dtypes(Types{}); }) dtypes = op.dtypes(a.ins);
        return infer_by_rule(op.rule(), a, dtypes);
      }
    }
    std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const override {
      return op.grad(b, n, dys);
    }
    Cost cost(Types ins, Types outs) const override { return op.cost(ins, outs); }
    std::vector<Alias> aliases() const override {
      if constexpr (requires { op.aliases(); })
        return op.aliases();
      else
        return {};
    }
    int lane() const override {
      if constexpr (requires { op.lane; })
        return op.lane;
      else
        return 0;
    }
    bool repeats() const override {
      if constexpr (requires { T::repeats; })
        return T::repeats;
      else
        return false;
    }
    bool passes_grad(int i) const override {
      if constexpr (requires { T::differentiable; }) return T::differentiable;
      if constexpr (requires { op.rule(); }) {
        const std::vector<int> layout_only = op.rule().layout_only;
        return std::find(layout_only.begin(), layout_only.end(), i) == layout_only.end();
      }
      return true;
    }
  };
  std::shared_ptr<const Base> it_;
};

}  // namespace megalith
