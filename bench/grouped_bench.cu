// grouped-bench: compares the grouped products for Hopper with float64, and their speed with cuBLASLt's products of
// the same flops.
//   grouped-bench check [N]     small shapes (the first N), every number; the same bits from a graph of another routing
//   grouped-bench samples       real shapes, some numbers
//   grouped-bench time [NAME]   real shapes (whose names contain NAME): TFLOP/s, each kernel in turn, at one clock
// Dense: one matrix for all rows. Batched: even groups. A routing assigns rows to experts: even; random; skewed (the
// first has 4 times the mean); worst (one has all).
#include "grouped_dense.cuh"
#include "grouped_judge.cuh"

namespace megalith::cuda {
namespace {

// Number of wrong values.
int check_small(int most) {
  struct {
    GroupedSizes z;
    int rows;
  } const cases[] = {{{700, 1, 256, 128}, 700},    {{1500, 5, 200, 136}, 1400}, {{3000, 8, 768, 512}, 2900},
                     {{6000, 3, 1288, 264}, 6000}, {{64, 4, 8, 8}, 50},         {{5000, 300, 136, 320}, 4800}};
  int bad = 0, all = 0;
  for (const auto& c : cases) {
    if (most-- <= 0) break;
    Judged made(c.z);
    for (const char* how : {"even", "random", "skewed", "worst", "gaps"}) {
      const std::string name = std::to_string(c.rows) + " rows " + std::to_string(c.z.experts) + " experts " +
                               std::to_string(c.z.n) + " x " + std::to_string(c.z.k);
      if (how == std::string("gaps") && c.z.experts / 4 * 129 + c.rows / 4 > c.z.rows) continue;
      ++all;
      bad += !judge_all(made, how, c.rows, 1, name);
    }
  }
  check_cuda(cudaDeviceSynchronize(), "end");
  printf("check: %d of %d bad\n", bad, all);
  return bad;
}

struct Real {
  const char* name;
  GroupedSizes z;
};
const Real kReal[] = {{"qwen3-30b fc1", {131072, 128, 1536, 2048}}, {"qwen3-30b fc2", {131072, 128, 2048, 768}},
                      {"mixtral fc1", {32768, 8, 28672, 4096}},     {"mixtral fc2", {32768, 8, 4096, 14336}},
                      {"deepseek fc1", {16384, 8, 4096, 7168}},     {"deepseek fc2", {16384, 8, 7168, 2048}}};

void time_all(const std::string& part) {
  Dense dense;
  printf("%-14s %-12s %-7s %7s %7s %7s\n", "TFLOP/s", "", "", "dense", "batched", "ours");
  for (const Real& real : kReal) {
    if (std::string(real.name).find(part) == std::string::npos) continue;
    Case c(real.z);
    const i64 most =
        std::max({c.numbers(Kind::weight_grad) * 4, c.numbers(Kind::forward) * 2, c.numbers(Kind::data_grad) * 2});
    Memory<char> out(most);
    check_cuda(cudaMemset(out.at(), 0, size_t(most)), "zeros");
    const double flops = 2.0 * real.z.rows * real.z.n * real.z.k / 1e9;
    const int runs = std::max(2, int(6000 / flops));
    for (const char* how : {"even", "random", "skewed", "worst"}) {
      c.route(how, real.z.rows);
      for (int form = 0; form < 4; ++form) {
        const Kind kind = Kind(std::min(form, 2));
        const bool add = form == 3;
        const std::vector<std::function<void()>> each{dense.of(c, kind, out.at(), add, 1),
                                                      dense.of(c, kind, out.at(), add, real.z.experts),
                                                      [&] { c.run(kind, out.at(), add); }};
        printf("%-14s %-12s %-7s", real.name, add ? "weight grad+" : kNames[int(kind)], how);
        for (float ms : medians_ms(each, 5, runs)) printf(" %7.0f", flops / ms);
        printf("\n"), fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace megalith::cuda

int main(int argc, char** argv) try {
  using namespace megalith::cuda;
  const std::string what = argc > 1 ? argv[1] : "check";
  if (what == "check") return check_small(argc > 2 ? std::atoi(argv[2]) : 100) > 0;
  if (what == "samples")
    for (const Real& real : kReal) {
      Judged c(real.z);
      for (const char* how : {"random", "worst"}) judge_all(c, how, real.z.rows - 1000, 9973, real.name);
    }
  if (what == "time") time_all(argc > 2 ? argv[2] : "");
  return 0;
} catch (const megalith::Error& e) {
  fprintf(stderr, "grouped-bench: %s\n", e.what());
  return 1;
}
