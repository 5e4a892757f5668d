// Megatron's saved arguments by name, and those of positions and multi-head latent attention.
#pragma once
#include <cmath>
#include <optional>
#include <string>

#include "base/check.h"
#include "ckpt/torch/megatron_args.h"

namespace megalith {

// Arguments by name; None counts as absent.
class Args {
  using Kind = PickleValue::Kind;

 public:
  explicit Args(const PickleValue& args) : args_(args) {}

  const PickleValue* find(std::string_view name) const {
    const PickleValue* v = args_.find(name);
    return v == nullptr || v->is_none() ? nullptr : v;
  }
  std::optional<bool> flag(std::string_view name) const {
    const PickleValue* v = find(name);
    return v == nullptr || v->kind != Kind::boolean ? std::nullopt : std::optional(v->integer != 0);
  }
  std::optional<double> number(std::string_view name) const {
    const PickleValue* v = find(name);
    if (v == nullptr) return std::nullopt;
    check(v->kind == Kind::integer || (v->kind == Kind::real && std::isfinite(v->real)),
          "[megatron] the argument {} is {}: want a finite number", name, v->describe());
    return v->kind == Kind::integer ? double(v->integer) : v->real;
  }
  std::optional<i64> size(std::string_view name) const {
    const PickleValue* v = find(name);
    if (v == nullptr) return std::nullopt;
    const i64 value = pickle_integer(v, fmt::format("[megatron] the argument {}", name));
    check(value >= 0 && value < i64{1} << 40, "[megatron] the argument {} is {}", name, value);
    return value;
  }
  i64 required(std::string_view name) const {
    const auto value = size(name);
    check(value.has_value() && *value > 0, "[megatron] the saved arguments do not give {}", name);
    return *value;
  }
  std::string text(std::string_view name) const {
    const PickleValue* v = find(name);
    return v != nullptr && v->kind == Kind::text ? v->text : "";
  }

 private:
  const PickleValue& args_;
};

void read_latent_attention(const Args& a, MlaConfig& m);
// `m.mla` must be read.
void read_positions(const Args& a, const HasTensor& has, ModelConfig& m);

}  // namespace megalith
