#include <cmath>

#include "kernel_cases.h"

namespace megalith::cuda {

std::vector<Case> attention_cases() {
  struct Size {
    i64 s, b, g, r, d, window;
    bool starts;  // packed documents: our own kernel
  };
  std::vector<Case> all;
  for (const Size& n : {Size{4096, 2, 8, 4, 128, 0, false},
                        {8192, 2, 8, 4, 128, 0, false},
                        {8192, 2, 8, 4, 128, 0, true},
                        {8192, 2, 8, 4, 128, 1024, false},
                        {1024, 64, 12, 1, 64, 0, false},
                        {1024, 64, 12, 1, 64, 0, true},
                        {1024, 16, 25, 1, 64, 0, false},
                        {2048, 16, 16, 1, 64, 0, false}}) {
    const DType b = DType::bf16;
    const Type q = of(b, {n.s, n.b, n.g, n.r, n.d}), k = of(b, {n.s, n.b, n.g, n.d}), rows = of(DType::i64, {n.b});
    const Type lse = of(DType::f32, {n.s, n.b, n.g, n.r}), starts = of(DType::i32, {n.s, n.b});
    AttentionSpec at;
    at.scale = 1 / std::sqrt(double(n.d)), at.window = n.window, at.starts = n.starts;
    const std::string size = fmt::format(" s{} b{} {}x{} d{}{}", n.s, n.b, n.g, n.r, n.d,
                                         n.window   ? fmt::format(" w{}", n.window)
                                         : n.starts ? " docs"
                                                    : "");
    std::vector<Type> ins = {q, k, k, rows}, grad_ins = {q, q, k, k, q, lse, rows};
    if (n.starts) ins.push_back(starts), grad_ins.push_back(starts);
    all.push_back({"attention" + size, Attention{at}, ins, false, 1});
    all.push_back({"attention_grad" + size, AttentionGrad{at}, grad_ins, false, 1});
  }
  return all;
}

std::vector<Case> encoder_cases() {
  struct Size {
    i64 s, t, b, heads;
    bool lengths;  // for whole sequences, whose lengths only the GPU knows
    i64 buckets;   // for relative positions
  };
  constexpr i64 kLong = i64{1} << 31;  // lengths are random up to this
  std::vector<Case> all;
  for (const Size& n : {Size{512, 512, 16, 16, false, 0},
                        {512, 512, 16, 16, true, 0},
                        {128, 512, 16, 16, true, 0},
                        {512, 512, 16, 16, true, 32},
                        {2048, 2048, 4, 16, true, 0}}) {
    const DType b = DType::bf16;
    const Type q = of(b, {n.s, n.b, n.heads, 1, 64}), k = of(b, {n.t, n.b, n.heads, 64}), rows = of(DType::i64, {n.b});
    const Type lse = of(DType::f32, {n.s, n.b, n.heads, 1}), lengths = of(DType::i32, {n.b});
    AttentionSpec at;
    at.scale = 0.125, at.causal = false, at.lengths = n.lengths, at.buckets = n.buckets, at.max_distance = 128;
    std::vector<Type> ins = {q, k, k, rows}, grad_ins = {q, q, k, k, q, lse, rows};
    for (std::vector<Type>* to : {&ins, &grad_ins}) {
      if (n.lengths) to->push_back(lengths);
      if (n.buckets) to->push_back(of(b, {n.heads, 1, n.buckets}));
    }
    const std::string size = fmt::format(" all keys s{} t{} b{} {}x64{}{}", n.s, n.t, n.b, n.heads,
                                         n.lengths ? " lengths" : "", n.buckets ? " relative" : "");
    all.push_back({"attention" + size, Attention{at}, ins, false, kLong});
    all.push_back({"attention_grad" + size, AttentionGrad{at}, grad_ins, false, kLong});
  }
  return all;
}

static Type split(Type t, int rotated = 0) {
  t.layout.dims[0].add({groups::context, Order::zigzag, rotated});
  return t;
}

std::vector<Case> context_parallel_cases() {
  struct Size {
    i64 s, g, r, d;
    int cp;
  };
  std::vector<Case> all;
  for (const Size& n : {Size{8192, 8, 4, 128, 4},
                        {32768, 8, 4, 128, 4},
                        {65536, 8, 4, 128, 2},
                        {131072, 8, 4, 128, 4},
                        {32768, 16, 1, 64, 4}}) {
    const auto copied = [](Type t) {
      t.layout.copy = {groups::context};
      return t;
    };
    const DType b = DType::bf16;
    const Type q = split(of(b, {n.s, 1, n.g, n.r, n.d})), k = copied(of(b, {n.s, 1, n.g, n.d}));
    const Type lse = split(of(DType::f32, {n.s, 1, n.g, n.r})), rows = of(DType::i64, {1});
    AttentionSpec at;
    at.scale = 1 / std::sqrt(double(n.d));
    const std::string size = fmt::format(" s{} cp{} {}x{} d{}", n.s, n.cp, n.g, n.r, n.d);
    all.push_back({"attention" + size, Attention{at}, {q, k, k, rows}, false, 1, n.cp});
    all.push_back({"attention_grad" + size, AttentionGrad{at}, {q, q, k, k, q, lse, rows}, false, 1, n.cp});
  }
  return all;
}

std::vector<Case> ring_cases() {
  struct Size {
    i64 s, g, r, d;
    int cp;
  };
  struct Step {
    const char* name;
    bool last_rank;
    int rotated;
  };
  const DType b = DType::bf16, f = DType::f32;
  std::vector<Case> all;
  for (const Size& n : {Size{8192, 8, 4, 128, 2}, {32768, 8, 4, 128, 2}, {32768, 8, 4, 128, 4}, {131072, 8, 4, 128, 4}})
    for (const Step& step : {Step{"own", false, 0}, {"half of the queries", false, 1}, {"half of the keys", true, 1}}) {
      const int rank = step.last_rank ? n.cp - 1 : 0;
      const Type q = split(of(b, {n.s, 1, n.g, n.r, n.d})), k = split(of(b, {n.s, 1, n.g, n.d}), step.rotated);
      const Type o = split(of(f, q.shape)), lse = split(of(f, {n.s, 1, n.g, n.r})), rows = of(DType::i64, {1});
      AttentionSpec at;
      at.scale = 1 / std::sqrt(double(n.d));
      const std::string size = fmt::format(" ring s{} cp{} {}", n.s, n.cp, step.name);
      const bool continues = step.rotated > 0;
      std::vector<Type> ins = {q, k, k, rows};
      if (continues) ins.push_back(o), ins.push_back(lse);
      all.push_back({"attention" + size, AttentionPart{at, n.cp, continues, continues && n.cp == 2}, ins, true, 1, n.cp,
                     rank, n.cp});
      all.push_back({"attention_grad" + size,
                     AttentionPartGrad{at, n.cp},
                     {q, q, k, k, q, lse, rows},
                     false,
                     1,
                     n.cp,
                     rank,
                     n.cp});
    }
  return all;
}

}  // namespace megalith::cuda
