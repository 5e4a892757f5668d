// fp8-check of plain casts to e4m3 and e5m2.
#include "cli/fp8/checks.h"
#include "quant/e8m0.h"

namespace megalith::fp8 {
namespace {

using quant::E2M1, quant::E8M0, quant::Fp8;

template <class T, class F>
auto each(const std::vector<T>& in, F&& f) {
  std::vector<decltype(f(in[0]))> out;
  out.reserve(in.size());
  for (const T& x : in) out.push_back(f(x));
  return out;
}

// NAME/e4m3 and NAME/e5m2 of x [n].
template <class T>
void hold_fp8(VectorCheck& held, const std::string& name, const Shape& shape, const std::vector<T>& x) {
  for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2})
    held.codes(name + (format == Fp8::e4m3 ? "/e4m3" : "/e5m2"), shape, format,
               each(x, [&](T v) { return quant::encode(format, float(v)); }));
}

template <class F>
void hold_values(VectorCheck& held, const std::string& name, i64 codes, F&& decode) {
  std::vector<float> values;
  for (i64 code = 0; code < codes; ++code) values.push_back(decode(u32(code)));
  held.equal<float>("value/" + name, {codes}, values);
}

}  // namespace

void check_casts(VectorFile& file, VectorCheck& held) {
  const Shape wide = file.shape("f32/in", 1), half = file.shape("f16/in", 1), brain = file.shape("bf16/in", 1);
  const auto x = file.read<float>("f32/in", wide);
  hold_fp8(held, "f32", wide, x);
  held.equal<u8>("f32/e2m1", wide, each(x, E2M1::encode));
  held.equal<u8>("f32/e8m0_up", wide, each(x, E8M0::encode_up));
  held.equal<bf16>("f32/bf16", wide, each(x, [](float v) { return bf16(v); }));
  hold_fp8(held, "bf16", brain, file.read<bf16>("bf16/in", brain));
  hold_fp8(held, "f16", half, file.read_halves("f16/in", half));
  hold_values(held, "e4m3", 256, quant::E4M3::decode);
  hold_values(held, "e5m2", 256, quant::E5M2::decode);
  hold_values(held, "e2m1", 16, E2M1::decode);
  hold_values(held, "e8m0", 256, E8M0::decode);
}

}  // namespace megalith::fp8
