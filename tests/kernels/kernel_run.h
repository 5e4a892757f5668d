// Runs a kernel that may update operands in place, and checks what it must not do. Every buffer has guard bytes. The
// workspace and the results start with garbage. Inputs must not change. Every run is repeated with other garbage and
// with one thread, and must give the same bits. Tensors hold doubles rounded to their dtype, so a plain definition in
// double sees the same numbers as the kernel.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/rng.h"
#include "base/threads.h"
#include "tests/kernels/under_test.h"

namespace megalith::kernel_tests {

struct Tensor {
  Type type;
  std::vector<double> x;
};

inline double epsilon(DType t) {
  return t == DType::bf16 ? 1.0 / 256 : t == DType::f16 ? 1.0 / 2048 : t == DType::f32 ? 6e-8 : 1.2e-16;
}  // half a unit in the last place
// Half the distance of subnormal numbers, if it matters.
inline double least_step(DType t) { return t == DType::f16 ? 0x1p-25 : 0; }

template <class F>
void with_element(DType t, F&& f) {
  if (t == DType::i32) return f(i32{});
  if (t == DType::u16) return f(u16{});
  if (t == DType::i64) return f(i64{});
  if (t == DType::u8 || t == DType::f8_e4m3 || t == DType::f8_e5m2) return f(u8{});
  dispatch_float(t, [&]<class T>() { f(T{}); });
}

inline Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& x) {
  Tensor t{{dtype, shape, whole(shape.size())}, x};
  with_element(dtype, [&](auto zero) {
    for (double& v : t.x) v = double(decltype(zero)(v));
  });
  return t;
}
inline Tensor random_tensor(DType dtype, const Shape& shape, u64 seed) {
  std::vector<double> x(size_t(count(shape)));
  for (size_t i = 0; i < x.size(); ++i) x[i] = normal(mix_all(seed, i));
  return tensor(dtype, shape, x);
}

class Watched {
 public:
  Watched(i64 bytes, u8 garbage) : bytes_(bytes), all_(size_t(bytes + 3 * kGuard), std::byte{kMark}) {
    data_ = all_.data() + kGuard + (64 - reinterpret_cast<std::uintptr_t>(all_.data()) % 64);
    std::memset(data_, garbage, size_t(bytes));
  }
  explicit Watched(const Tensor& t) : Watched(i64(t.x.size()) * size_of(t.type.dtype), 0) {
    with_element(t.type.dtype, [&](auto zero) {
      using E = decltype(zero);
      for (size_t i = 0; i < t.x.size(); ++i) reinterpret_cast<E*>(data_)[i] = E(t.x[i]);
    });
  }
  Watched(Watched&&) = default;

  std::byte* data() { return data_; }
  std::vector<std::byte> bytes() const { return {data_, data_ + bytes_}; }
  bool intact() const {
    for (const std::byte& b : all_)
      if ((&b < data_ || &b >= data_ + bytes_) && b != std::byte{kMark}) return false;
    return true;
  }
  Tensor tensor(const Type& type) const {
    Tensor t{type, {}};
    with_element(type.dtype, [&](auto zero) {
      using E = decltype(zero);
      for (i64 i = 0; i < bytes_ / i64(sizeof(E)); ++i) t.x.push_back(double(reinterpret_cast<const E*>(data_)[i]));
    });
    return t;
  }

 private:
  static constexpr i64 kGuard = 192;
  static constexpr u8 kMark = 0xA5;
  i64 bytes_;
  std::vector<std::byte> all_;
  std::byte* data_;
};

struct RunOptions {
  bool first_micro_batch = false;
  bool any_threads = true;   // one thread gives the same bits
  bool in_place = true;      // a result over an input gives them too
  bool over_inputs = false;  // results overwrite inputs where they may
};

template <class T>
class KernelRun {
 public:
  KernelRun(const T& op, const std::vector<Tensor>& ins, RunOptions options = {})
      : op_(op), ins_(ins), options_(options) {
    for (const Tensor& t : ins) types_.push_back(t.type);
    const AnyOp any(op);
    outs_ = any.infer({mesh_, types_, std::vector<bool>(ins.size(), false)});
    aliases_ = any.aliases();
  }

  std::vector<Tensor> results() {
    std::vector<Alias> fitting;
    for (const Alias& a : aliases_)
      if (!a.must && outs_[a.out].bytes() == types_[a.in].bytes()) fitting.push_back(a);
    const std::vector<Alias> over = options_.over_inputs ? fitting : std::vector<Alias>{};
    const auto first = once(0xFF, over);
    expect_same(first, once(0x7F, over), "a second run");
    if (options_.in_place)
      for (const Alias& a : fitting) expect_same(first, once(0xFF, {a}), "a result over an input");
    if (options_.any_threads) {
      const int threads = num_threads();
      omp_set_num_threads(1);
      expect_same(first, once(0xFF, over), "one thread");
      omp_set_num_threads(threads);
    }
    return first;
  }

 private:
  static void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const char* what) {
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t k = 0; k < a[i].x.size(); ++k)
        ASSERT_EQ(std::bit_cast<u64>(a[i].x[k]), std::bit_cast<u64>(b[i].x[k]))
            << what << " differs in result " << i << " at " << k;
  }

  std::vector<Tensor> once(u8 garbage, std::vector<Alias> aliases) {
    for (const Alias& a : aliases_)
      if (a.must) aliases.push_back(a);
    const TestedKernel kernel = prepare_tested(AnyOp(op_), KernelContext{{mesh_, {}}, types_, outs_});
    std::vector<Watched> ins, outs;
    for (const Tensor& t : ins_) ins.emplace_back(t);
    for (const Type& t : outs_) outs.emplace_back(t.bytes(), garbage);
    std::vector<std::byte*> in_at, out_at;
    std::vector<bool> shared(ins.size(), false);
    for (Watched& w : ins) in_at.push_back(w.data());
    for (Watched& w : outs) out_at.push_back(w.data());
    for (const Alias& a : aliases) out_at[a.out] = in_at[a.in], shared[a.in] = true;
    Watched workspace(kernel.workspace, garbage);
    kernel.run({in_at, out_at, workspace.data(), options_.first_micro_batch, garbage});
    EXPECT_TRUE(workspace.intact()) << "wrote around the workspace of " << kernel.workspace << " bytes";
    for (size_t i = 0; i < ins.size(); ++i) {
      EXPECT_TRUE(ins[i].intact()) << "wrote around input " << i;
      EXPECT_TRUE(shared[i] || ins[i].bytes() == Watched(ins_[i]).bytes()) << "changed input " << i;
    }
    for (size_t i = 0; i < outs.size(); ++i) EXPECT_TRUE(outs[i].intact()) << "wrote around result " << i;
    std::vector<Tensor> out;
    for (size_t i = 0; i < outs.size(); ++i) out.push_back(outs[i].tensor(outs_[i]));
    for (const Alias& a : aliases) out[a.out] = ins[a.in].tensor(outs_[a.out]);
    return out;
  }

  T op_;
  std::vector<Tensor> ins_;
  RunOptions options_;
  Mesh mesh_;
  std::vector<Type> types_, outs_;
  std::vector<Alias> aliases_;
};

template <class T>
std::vector<Tensor> run_kernel(const T& op, const std::vector<Tensor>& ins, RunOptions options = {}) {
  return KernelRun<T>(op, ins, options).results();
}

// |got - want| <= eps(dtype) * |want| + sum_error * magnitude, element by element. `magnitude` bounds the size of the
// summed terms.
struct RoundingLimit {
  double relative, absolute;
};
inline void expect_close(const Tensor& got, const std::vector<double>& want, RoundingLimit t, const std::string& what) {
  ASSERT_EQ(got.x.size(), want.size()) << what;
  t.absolute += least_step(got.type.dtype);
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_LE(std::abs(got.x[i] - want[i]), t.relative * std::abs(want[i]) + t.absolute)
        << what << " at " << i << ": " << got.x[i] << ", not " << want[i];
}

}  // namespace megalith::kernel_tests
