// Runs one kernel as one rank, with everything a kernel may get wrong watched: guard bytes around every buffer;
// unaligned buffers; a workspace full of NaN; inputs that must stay as they were; a second run that must give the same
// bits; each alias that the op allows. Arrays hold doubles that were rounded to their dtype, so that a plain definition
// in double sees the same inputs as the kernel.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "base/rng.h"
#include "tests/kernels/under_test.h"

namespace megalith::kernel_tests {

struct Array {
  Type type;  // logical; x holds what one rank has of it
  std::vector<double> x;

  double& operator[](i64 i) { return x[size_t(i)]; }
  double operator[](i64 i) const { return x[size_t(i)]; }
  i64 dim(int d) const { return type.dim(d); }
};

// f with the C++ type of any dtype.
template <class F>
void with_type(DType t, F&& f) {
  if (t == DType::i32) return f(i32{});
  if (t == DType::u16) return f(u16{});
  if (t == DType::i64) return f(i64{});
  dispatch_float(t, [&]<class T>() { f(T{}); });
}

inline double rounded(DType t, double v) {
  double out = 0;
  with_type(t, [&](auto zero) { out = double(decltype(zero)(v)); });
  return out;
}

inline Array array(DType dtype, const Shape& shape, const std::function<double(i64)>& value) {
  Array a{{dtype, shape, whole(shape.size())}, {}};
  for (i64 i = 0; i < count(shape); ++i) a.x.push_back(rounded(dtype, value(i)));
  return a;
}
inline Array normals(DType dtype, const Shape& shape, u64 seed, double scale = 1) {
  return array(dtype, shape, [&](i64 i) { return scale * normal(mix_all(seed, i)); });
}

// Bytes with guards on both sides; the data starts at an address that is a multiple of the element size and of nothing
// more.
class Guarded {
 public:
  Guarded(i64 bytes, i64 offset, u8 content) : bytes_(bytes), offset_(kGuard + offset) {
    all_.assign(size_t(bytes + 2 * kGuard + 128), std::byte{0xA5});
    base_ = all_.data() + (64 - reinterpret_cast<std::uintptr_t>(all_.data()) % 64) % 64;
    std::memset(data(), content, size_t(bytes));
  }
  std::byte* data() { return base_ + offset_; }
  bool intact() {
    for (std::byte* p = all_.data(); p < all_.data() + all_.size(); ++p)
      if ((p < data() || p >= data() + bytes_) && *p != std::byte{0xA5}) return false;
    return true;
  }
  std::vector<std::byte> copy() { return {data(), data() + bytes_}; }

 private:
  static constexpr i64 kGuard = 128;
  i64 bytes_, offset_;
  std::vector<std::byte> all_;
  std::byte* base_;
};

template <class T>
class OpRun {
 public:
  OpRun(const T& op, const std::vector<Array>& ins, const Place& place = {}) : ins_(ins), context_{place, {}, {}} {
    for (const Array& a : ins) context_.ins.push_back(a.type);
    const AnyOp any(op);
    context_.outs = any.infer({place.mesh, context_.ins, std::vector<bool>(ins.size(), false)});
    aliases_ = any.aliases();
    kernel_ = prepare_tested(any, context_);
  }

  // The results, all checks done.
  std::vector<Array> checked() {
    const auto first = once(0xFF, nullptr), second = once(0x7F, nullptr);
    EXPECT_EQ(first, second) << "a second run gives other bits";
    for (const Alias& alias : aliases_) {
      if (alias.must || context_.out_bytes(alias.out) != context_.in_bytes(alias.in)) continue;
      EXPECT_EQ(first, once(0xFF, &alias)) << "result " << alias.out << " over input " << alias.in;
    }
    return arrays(first);
  }
  std::vector<Array> quick() { return arrays(once(0, nullptr)); }

 private:
  using Bytes = std::vector<std::vector<std::byte>>;

  Guarded filled(int i) const {
    const DType t = context_.ins[i].dtype;
    Guarded g(context_.in_bytes(i), size_of(t), 0);
    EXPECT_EQ(i64(ins_[i].x.size()), count(context_.in_shape(i))) << "input " << i;
    with_type(t, [&](auto zero) {
      using E = decltype(zero);
      for (size_t k = 0; k < ins_[i].x.size(); ++k) {
        const E value = E(ins_[i].x[k]);
        std::memcpy(g.data() + k * sizeof(E), &value, sizeof(E));
      }
    });
    return g;
  }

  Bytes once(u8 garbage, const Alias* alias) const {
    std::vector<Guarded> ins, outs;
    std::vector<std::byte*> in_at, out_at;
    for (int i = 0; i < int(ins_.size()); ++i) ins.push_back(filled(i));
    for (int i = 0; i < int(context_.outs.size()); ++i)
      outs.emplace_back(context_.out_bytes(i), size_of(context_.outs[i].dtype), garbage);
    for (Guarded& g : ins) in_at.push_back(g.data());
    for (Guarded& g : outs) out_at.push_back(g.data());
    std::vector<Alias> shared;
    for (const Alias& a : aliases_)
      if (a.must) shared.push_back(a);
    if (alias) shared.push_back(*alias);
    for (const Alias& a : shared) out_at[a.out] = in_at[a.in];
    Bytes before, after, results;
    for (Guarded& g : ins) before.push_back(g.copy());
    Guarded workspace(kernel_.workspace, 0, garbage);
    kernel_.run({in_at, out_at, workspace.data(), false, garbage});
    for (Guarded& g : ins) {
      after.push_back(g.copy());
      EXPECT_TRUE(g.intact()) << "wrote around input " << &g - ins.data();
    }
    for (Guarded& g : outs) {
      results.push_back(g.copy());
      EXPECT_TRUE(g.intact()) << "wrote around result " << &g - outs.data();
    }
    EXPECT_TRUE(workspace.intact()) << "wrote around the workspace of " << kernel_.workspace << " bytes";
    for (const Alias& a : shared) results[a.out] = after[a.in], after[a.in] = before[a.in];
    EXPECT_EQ(before, after) << "an input changed";
    return results;
  }

  std::vector<Array> arrays(const Bytes& bytes) const {
    std::vector<Array> out;
    for (size_t i = 0; i < bytes.size(); ++i) {
      Array a{context_.outs[i], {}};
      with_type(a.type.dtype, [&](auto zero) {
        using E = decltype(zero);
        for (size_t k = 0; k * sizeof(E) < bytes[i].size(); ++k) {
          E value;
          std::memcpy(static_cast<void*>(&value), bytes[i].data() + k * sizeof(E), sizeof(E));
          a.x.push_back(double(value));
        }
      });
      out.push_back(std::move(a));
    }
    return out;
  }

  std::vector<Array> ins_;
  KernelContext context_;
  std::vector<Alias> aliases_;
  TestedKernel kernel_;
};

template <class T>
std::vector<Array> run_checked(const T& op, const std::vector<Array>& ins, const Place& place = {}) {
  return OpRun<T>(op, ins, place).checked();
}
template <class T>
std::vector<Array> run_quick(const T& op, const std::vector<Array>& ins, const Place& place = {}) {
  return OpRun<T>(op, ins, place).quick();
}

// Half a unit in the last place, relative: of what a dtype stores, and of what its arithmetic runs in.
inline double storage_error(DType t) {
  return t == DType::f64 ? 0x1p-53 : t == DType::f32 ? 0x1p-24 : t == DType::f16 ? 0x1p-11 : 0x1p-8;
}
inline double arithmetic_error(DType t) { return t == DType::f64 ? 0x1p-53 : 0x1p-24; }

// |got - want| <= roundings * arithmetic error * scale + what storing the result rounds. scale: the size of the terms
// that are added up.
struct Tolerance {
  DType arithmetic;
  double roundings;
  double scale = 1;
};
inline void expect_near(const Array& got, const std::vector<double>& want, const Tolerance& tol,
                        const std::string& what) {
  ASSERT_EQ(got.x.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    const double limit = tol.roundings * arithmetic_error(tol.arithmetic) * (tol.scale + std::abs(want[i])) +
                         1.01 * storage_error(got.type.dtype) * std::abs(want[i]) +
                         (got.type.dtype == DType::f16 ? 0x1p-25 : 0);  // its subnormal numbers lie 2^-24 apart
    ASSERT_LE(std::abs(got.x[i] - want[i]), limit)
        << what << " [" << i << "] of " << to_string(got.type) << ": got " << got.x[i] << ", want " << want[i];
  }
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Compares `grad`, the gradient of loss() with respect to ins[which], with central differences; loss reads `ins`. At
// most 60 elements.
inline void expect_gradient(std::vector<Array>& ins, int which, const Array& grad,
                            const std::function<double()>& loss) {
  std::vector<double>& x = ins[which].x;
  ASSERT_EQ(grad.x.size(), x.size());
  double size = 1e-3;
  for (double g : grad.x) size = std::max(size, std::abs(g));
  const size_t step = std::max<size_t>(1, x.size() / 60);
  for (size_t i = 0; i < x.size(); i += step) {
    const double at = x[i], h = 1e-5;
    x[i] = at + h;
    const double up = loss();
    x[i] = at - h;
    const double down = loss();
    x[i] = at;
    ASSERT_NEAR(grad.x[i], (up - down) / (2 * h), 1e-7 * size) << "input " << which << " [" << i << "]";
  }
}

// What the rank holds of a whole array under `layout`.
inline Array slice(const Array& all, const Layout& layout, const Place& at) {
  Array out{{all.type.dtype, all.type.shape, layout}, {}};
  const Shape local = local_shape(at.mesh, all.type.shape, layout);
  std::vector<std::vector<i64>> index;
  for (int d = 0; d < all.type.ndim(); ++d) index.push_back(indices(at.mesh, all.type.shape, layout, at.coord, d));
  for (i64 i = 0; i < count(local); ++i) {
    i64 rest = i, from = 0, stride = 1;
    for (int d = all.type.ndim() - 1; d >= 0; --d) {
      from += index[d][rest % local[d]] * stride;
      rest /= local[d], stride *= all.type.shape[d];
    }
    out.x.push_back(all[from]);
  }
  return out;
}

}  // namespace megalith::kernel_tests
