#include "tests/kernels/run_op.h"

#include <cmath>
#include <cstring>

namespace megalith::kernel_tests {
namespace {

using Bytes = std::vector<u8>;  // two buffers of u8 are compared as a whole

// Bytes with guards on both sides. The data's address is a multiple of the element size, and of no larger power of two.
class Guarded {
 public:
  Guarded(i64 bytes, i64 offset, u8 content) : bytes_(size_t(bytes)) {
    all_.assign(size_t(bytes + 2 * kGuard + 128), kMark);
    at_ = (64 - reinterpret_cast<std::uintptr_t>(all_.data()) % 64) % 64 + size_t(kGuard + offset);
    std::memset(data(), content, bytes_);
  }
  Guarded(const Bytes& content, i64 offset) : Guarded(i64(content.size()), offset, 0) {
    if (!content.empty()) std::memcpy(data(), content.data(), content.size());
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(all_.data() + at_); }
  bool intact() const {
    const auto is_mark = [](u8 x) { return x == kMark; };
    return std::all_of(all_.begin(), all_.begin() + i64(at_), is_mark) &&
           std::all_of(all_.begin() + i64(at_ + bytes_), all_.end(), is_mark);
  }
  Bytes copy() const { return {all_.begin() + i64(at_), all_.begin() + i64(at_ + bytes_)}; }

 private:
  static constexpr i64 kGuard = 128;
  static constexpr u8 kMark = 0xA5;
  size_t bytes_, at_;
  Bytes all_;
};

Bytes packed(const Array& a) {
  Bytes out;
  with_type(a.type.dtype, [&](auto zero) {
    using E = decltype(zero);
    out.resize(a.x.size() * sizeof(E));
    for (size_t k = 0; k < a.x.size(); ++k) {
      const E value = E(a.x[k]);
      std::memcpy(out.data() + k * sizeof(E), &value, sizeof(E));
    }
  });
  return out;
}

class OpRun {
 public:
  OpRun(const AnyOp& op, const std::vector<Array>& ins, const Place& place) : context_{place, {}, {}} {
    for (const Array& a : ins) context_.ins.push_back(a.type);
    context_.outs = op.infer({place.mesh, context_.ins, std::vector<bool>(ins.size(), false)});
    aliases_ = op.aliases();
    kernel_ = prepare_tested(op, context_);
    for (int i = 0; i < int(ins.size()); ++i) {
      EXPECT_EQ(i64(ins[size_t(i)].x.size()), count(context_.in_shape(i))) << "input " << i;
      ins_.push_back(packed(ins[size_t(i)]));
      ins_.back().resize(size_t(context_.in_bytes(i)));
    }
  }

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
  std::vector<Bytes> once(u8 garbage, const Alias* alias) const {
    std::vector<Guarded> ins, outs;
    std::vector<std::byte*> in_at, out_at;
    for (size_t i = 0; i < ins_.size(); ++i) ins.emplace_back(ins_[i], size_of(context_.ins[i].dtype));
    for (int i = 0; i < int(context_.outs.size()); ++i)
      outs.emplace_back(context_.out_bytes(i), size_of(context_.outs[size_t(i)].dtype), garbage);
    for (Guarded& g : ins) in_at.push_back(g.data());
    for (Guarded& g : outs) out_at.push_back(g.data());
    std::vector<Alias> shared;
    for (const Alias& a : aliases_)
      if (a.must) shared.push_back(a);
    if (alias) shared.push_back(*alias);
    for (const Alias& a : shared) out_at[size_t(a.out)] = in_at[size_t(a.in)];
    Guarded workspace(kernel_.workspace, 0, garbage);
    kernel_.run({in_at, out_at, workspace.data(), false, garbage});
    std::vector<Bytes> after, results;
    for (Guarded& g : ins) {
      after.push_back(g.copy());
      EXPECT_TRUE(g.intact()) << "wrote around input " << &g - ins.data();
    }
    for (Guarded& g : outs) {
      results.push_back(g.copy());
      EXPECT_TRUE(g.intact()) << "wrote around result " << &g - outs.data();
    }
    EXPECT_TRUE(workspace.intact()) << "wrote around the workspace of " << kernel_.workspace << " bytes";
    for (const Alias& a : shared)
      results[size_t(a.out)] = after[size_t(a.in)], after[size_t(a.in)] = ins_[size_t(a.in)];
    EXPECT_EQ(ins_, after) << "an input changed";
    return results;
  }

  std::vector<Array> arrays(const std::vector<Bytes>& bytes) const {
    std::vector<Array> out;
    for (size_t i = 0; i < bytes.size(); ++i) {
      Array a{context_.outs[i], {}};
      with_type(a.type.dtype, [&](auto zero) {
        using E = decltype(zero);
        a.x.resize(bytes[i].size() / sizeof(E));
        for (size_t k = 0; k < a.x.size(); ++k) {
          E value;
          std::memcpy(static_cast<void*>(&value), bytes[i].data() + k * sizeof(E), sizeof(E));
          a.x[k] = double(value);
        }
      });
      out.push_back(std::move(a));
    }
    return out;
  }

  std::vector<Bytes> ins_;
  KernelContext context_;
  std::vector<Alias> aliases_;
  TestedKernel kernel_;
};

}  // namespace

Array array(DType dtype, const Shape& shape, const std::function<double(i64)>& value) {
  Array a{{dtype, shape, whole(shape.size())}, std::vector<double>(size_t(count(shape)))};
  with_type(dtype, [&](auto zero) {
    for (size_t i = 0; i < a.x.size(); ++i) a.x[i] = double(decltype(zero)(value(i64(i))));
  });
  return a;
}

std::vector<Array> run_checked(const AnyOp& op, const std::vector<Array>& ins, const Place& place) {
  return OpRun(op, ins, place).checked();
}

std::vector<Array> run_quick(const AnyOp& op, const std::vector<Array>& ins, const Place& place) {
  return OpRun(op, ins, place).quick();
}

void expect_near(const Array& got, const std::vector<double>& want, const Tolerance& tol, const std::string& what) {
  ASSERT_EQ(got.x.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    const double limit = tol.roundings * arithmetic_error(tol.arithmetic) * (tol.scale + std::abs(want[i])) +
                         1.01 * storage_error(got.type.dtype) * std::abs(want[i]) +
                         (got.type.dtype == DType::f16 ? 0x1p-25 : 0);  // subnormal numbers are 2^-24 apart
    ASSERT_LE(std::abs(got.x[i] - want[i]), limit)
        << what << " [" << i << "] of " << to_string(got.type) << ": got " << got.x[i] << ", want " << want[i];
  }
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void expect_gradient(std::vector<Array>& ins, int which, const Array& grad, const std::function<double()>& loss) {
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

Array slice(const Array& all, const Layout& layout, const Place& at) {
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
