// Casts of single numbers, scales, histories.
#include <cmath>

#include "cli/fp8/key.h"
#include "cli/fp8/ops/checks.h"
#include "ops/delayed_scale.h"
#include "ops/update.h"
#include "quant/cast.h"
#include "quant/e8m0.h"
#include "quant/scale.h"

namespace megalith::fp8 {
namespace {

using quant::Fp8;

constexpr Fp8 kCodeFormats[] = {Fp8::e4m3, Fp8::e5m2};
const char* word_of(Fp8 format) { return format == Fp8::e4m3 ? "e4m3" : "e5m2"; }

// Codes with the scale 1.
template <class T>
void hold_casts(const OpCheck& c, const std::string& name, DType dtype, const std::vector<T>& x) {
  const Shape shape = {i64(x.size())};
  for (const Fp8 format : kCodeFormats) {
    Quantize op{.format = code_format(format), .scaling = Scaling::kept, .box = shape};
    op.gives_amax = true;
    const std::vector<Array> ins = {array_of(dtype, shape, x), array_of(DType::f32, {1}, std::vector<float>{1})};
    c.held.codes(name + "/" + word_of(format), shape, format, c.ops.run(op, ins)[0].as<u8>());
  }
}

// The value of each code in a product: times 1, with zeros around it.
void hold_code_values(const OpCheck& c, const std::string& name, CodeFormat format, u8 one, i64 codes) {
  constexpr i64 kSum = 16;
  const CodeFormat w_format = format == CodeFormat::e2m1 ? format : CodeFormat::e4m3;
  std::vector<u8> x(size_t(codes * kSum)), w(kSum * kSum);
  for (i64 i = 0; i < codes; ++i) x[size_t(i * kSum)] = u8(i);
  for (i64 i = 0; i < kSum; ++i) w[size_t(i * kSum + i)] = one;
  const Array scale = array_of(DType::f32, {1, 1}, std::vector<float>{1});
  const QuantizedProduct op{"mk,nk->mn", DType::f32, format, w_format, {codes, kSum}, {kSum, kSum}};
  const std::vector<float> y = c.ops
                                   .run(op, {array_of(dtype_of_codes(format), {codes, kSum}, x), scale,
                                             array_of(dtype_of_codes(w_format), {kSum, kSum}, w), scale})[0]
                                   .as<float>();
  std::vector<float> first;
  for (i64 i = 0; i < codes; ++i) first.push_back(y[size_t(i * kSum)]);
  c.held.same_numbers("value/" + name, {codes}, first);
}

// The scale from amax, by boxes filled with it. A non-finite amax gives NaN, although the rule has a scale.
template <class Rule>
std::vector<float> scales_of_boxes(const OpCheck& c, const std::vector<float>& amax, Fp8 format, Scaling scaling,
                                   Rule&& rule) {
  constexpr i64 kWidth = 32;
  std::vector<float> x;
  for (const float a : amax) x.insert(x.end(), kWidth, a);
  const Quantize op{.format = code_format(format), .scaling = scaling, .box = {1, kWidth}};
  std::vector<float> out = c.ops.run(op, {array_of(DType::f32, {i64(amax.size()), kWidth}, x)})[1].as<float>();
  for (size_t i = 0; i < amax.size(); ++i)
    if (!std::isfinite(amax[i])) out[i] = std::isnan(out[i]) ? rule(amax[i]) : 0;
  return out;
}

std::vector<float> scales_of_tensors(const OpCheck& c, const std::vector<float>& amax, Fp8 format) {
  std::vector<std::pair<AnyOp, std::vector<Array>>> ops;
  for (const float a : amax)
    ops.push_back({Quantize{.format = code_format(format), .box = {1, 1}},
                   {array_of(DType::f32, {1, 1}, std::vector<float>{0}),
                    array_of(DType::f32, {1, 1}, std::vector<float>{quant::is_infinite(a) || a != a ? INFINITY : a})}});
  std::vector<float> out;
  for (const Array& scale : c.ops.run_all(ops, 1)) out.push_back(scale.as<float>()[0]);
  for (size_t i = 0; i < amax.size(); ++i)
    if (!std::isfinite(amax[i])) out[i] = std::isnan(out[i]) ? 1 : 0;
  return out;
}

// One step of the delayed-scaling states of n tensors. They are the columns of layers; e5m2 is the last column.
class DelayedStates {
 public:
  DelayedStates(const OpCheck& c, Fp8 format, bool largest, i64 slots, int margin, std::vector<float> scale)
      : c_(c),
        each_(format == Fp8::e5m2 ? 1 : 3),
        first_(format == Fp8::e5m2 ? 2 : 0),
        slots_(slots),
        n_(scale.size()) {
    op_ = {(i64(n_) + i64(each_) - 1) / i64(each_), largest, margin, code_format(format)};
    states_.assign(size_t(op_.layers), std::vector<float>(size_t(3 * (1 + slots))));
    for (size_t i = 0; i < n_; ++i) states_[i / each_][column(i)] = scale[i];
  }
  void move(std::span<const float> amax) {
    std::vector<float> seen(size_t(3 * op_.layers));
    for (size_t i = 0; i < n_; ++i) seen[i / each_ * 3 + column(i)] = amax[i];
    std::vector<double> scalars(step_scalar::kSize);
    scalars[step_scalar::kCounts] = 1;
    std::vector<Array> ins;
    for (const auto& s : states_) ins.push_back(array_of(DType::f32, {1 + slots_, 3}, s));
    ins.push_back(array_of(DType::f32, {3 * op_.layers}, seen));
    ins.push_back(array_of(DType::f64, {step_scalar::kSize}, scalars));
    const std::vector<Array> got = c_.ops.run(op_, ins);
    for (size_t i = 0; i < states_.size(); ++i) states_[i] = got[i].as<float>();
  }
  // Row 0: scales. Other rows: the history.
  std::vector<float> row(i64 r) const {
    std::vector<float> out;
    for (size_t i = 0; i < n_; ++i) out.push_back(states_[i / each_][size_t(3 * r) + column(i)]);
    return out;
  }

 private:
  size_t column(size_t i) const { return first_ + i % each_; }

  const OpCheck& c_;
  size_t each_, first_;
  i64 slots_;
  size_t n_;
  DelayedScale op_;
  std::vector<std::vector<float>> states_;
};

void hold_moves(const OpCheck& c, const DelayedSetting& s, const std::string& key, const std::vector<float>& amax,
                i64 updates) {
  const i64 tensors = i64(amax.size()) / updates;
  DelayedStates states(c, s.rule.format, s.rule.algorithm == quant::AmaxAlgorithm::max, s.slots, s.rule.margin,
                       std::vector<float>(size_t(tensors), 1.0f));
  std::vector<float> before, after, moved;
  const auto add = [](std::vector<float>& to, const std::vector<float>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  for (i64 u = 0; u < updates; ++u) {
    add(before, states.row(0));
    states.move(std::span(amax).subspan(size_t(u * tensors), size_t(tensors)));
    add(after, states.row(0));
    for (i64 r = 1; r <= s.slots; ++r) add(moved, states.row(r));
  }
  c.held.equal<float>(key + "/scale_before", {updates, tensors}, before);
  c.held.equal<float>(key + "/scale_after", {updates, tensors}, after);
  c.held.equal<float>(key + "/history_after", {updates, s.slots, tensors}, moved);
}

// Repeated casts of one tensor. The amax of each moves the scale.
void hold_run_by_op(const OpCheck& c) {
  const Shape shape = c.file.shape("run/x", 2);
  const std::vector<bf16> x = c.file.read<bf16>("run/x", shape);
  DelayedStates states(c, Fp8::e4m3, true, 4, 0, {1});
  Quantize op{.scaling = Scaling::kept, .box = {shape[1]}};
  op.gives_amax = op.counts = true;
  std::vector<u8> codes;
  std::vector<float> scales;
  std::vector<i32> saturated;
  for (i64 u = 0; u < shape[0]; ++u) {
    const std::vector<bf16> row(x.begin() + u * shape[1], x.begin() + (u + 1) * shape[1]);
    scales.push_back(states.row(0)[0]);
    const std::vector<Array> got =
        c.ops.run(op, {array_of(DType::bf16, {shape[1]}, row), array_of(DType::f32, {1}, std::vector{scales.back()})});
    const std::vector<u8> here = got[0].as<u8>();
    codes.insert(codes.end(), here.begin(), here.end());
    states.move(got[2].as<float>());
    saturated.push_back(i32(got[size_t(op.counts_at())].as<i64>()[0]));
  }
  c.held.codes("run/e4m3", shape, Fp8::e4m3, codes);
  c.held.equal<float>("run/scale", {shape[0]}, scales);
  c.held.equal<i32>("run/saturated", {shape[0]}, saturated);
}

}  // namespace

void check_casts_by_ops(const OpCheck& c) {
  hold_casts(c, "f32", DType::f32, c.file.read<float>("f32/in", c.file.shape("f32/in", 1)));
  hold_casts(c, "bf16", DType::bf16, c.file.read<bf16>("bf16/in", c.file.shape("bf16/in", 1)));
  hold_casts(c, "f16", DType::f32, c.file.read_halves("f16/in", c.file.shape("f16/in", 1)));
  hold_code_values(c, "e4m3", CodeFormat::e4m3, quant::E4M3::encode(1), 256);
  hold_code_values(c, "e5m2", CodeFormat::e5m2, quant::E4M3::encode(1), 256);
  hold_code_values(c, "e2m1", CodeFormat::e2m1, quant::E2M1::encode(1), 16);
  c.held.lacks("f32/e2m1", "an op casts to e2m1 by scales of its own");
  for (const char* name : {"f32/e8m0_up", "value/e8m0"}) c.held.lacks(name, "no op has ue8m0 but in its scales");
  c.held.lacks("f32/bf16", "a cast to bf16 is none of codes");
}

void check_scales_by_ops(const OpCheck& c) {
  const std::vector<float> amax = c.file.read<float>("amax", c.file.shape("amax", 1));
  const Shape shape = {i64(amax.size())};
  for (const Fp8 format : kCodeFormats) {
    const std::string current = std::string("current/") + word_of(format);
    const float top = quant::largest_of(format);
    c.held.equal<float>(current + "_inv", shape, scales_of_tensors(c, amax, format));
    c.held.equal<float>(current + "_pow2_inv", shape,
                        scales_of_boxes(c, amax, format, Scaling::power_of_two, [](float) { return 1.0f; }));
    std::vector<u8> codes;
    for (const float s : scales_of_boxes(c, amax, format, Scaling::mx,
                                         [&](float a) { return quant::E8M0::decode(quant::mx_code(a, top)); }))
      codes.push_back(quant::E8M0::encode_up(s));
    c.held.equal<u8>(std::string("mx/e8m0_") + word_of(format), shape, codes);
    for (const char* rule : {"", "_pow2"}) c.held.lacks(current + rule, "an op gives scale_inv alone");
    for (const char* rule : {"_eps", "_bf16", "_pow2_bf16"})
      for (const char* of : {"", "_inv"}) c.held.lacks(current + rule + of, "no op takes an amax by this rule");
  }
  for (const std::string& name : c.file.names("delayed/")) {
    std::string_view rest = name;
    const auto format = take_format(rest);
    const auto margin = take_count(rest, "margin");
    const auto old = take_number(rest, "old");
    if (!format || !margin || !old || !rest.empty()) continue;  // reported as an unknown tensor
    DelayedStates states(c, *format, false, 1, int(*margin), std::vector<float>(amax.size(), *old));
    states.move(amax);
    c.held.equal<float>("delayed/" + name, shape, states.row(0));
  }
  for (const char* name : {"nv/global_encode", "nv/global_decode"})
    c.held.lacks(name, "an op gives the product of this factor and a box's scale");
}

void check_delayed_by_ops(const OpCheck& c) {
  i64 updates = 0;
  const std::vector<float> amax = reduced_amax(c.file, updates);
  for (const std::string& key : c.file.groups(""))
    if (const auto setting = delayed_setting(key)) hold_moves(c, *setting, key, amax, updates);
  hold_run_by_op(c);
}

void check_loss_scale_by_ops(const OpCheck& c) {
  for (const std::string& run : c.file.groups(""))
    for (const char* of :
         {"settings", "found_inf", "scale_used", "scale_after", "clean_after", "hysteresis_after", "inv_used"})
      c.held.lacks(run + "/" + of, "training in fp16 is of the CPU: --device cpu holds its loss scale");
}

}  // namespace megalith::fp8
