#include "exec/cuda/products/gemm.h"

#include <cublasLt.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "exec/cuda/products/gemm_choices.h"
#include "exec/cuda/products/gemm_clock.h"
#include "exec/cuda/products/gemm_layout.h"
#include "exec/cuda/products/gemm_rows.h"
#include "exec/cuda/products/gemm_variants.h"

namespace megalith::cuda {

namespace {

// NVIDIA's recommendation for Hopper. Only products with few blocks and long sums use it, because their sums are cut.
constexpr size_t kMostWorkspace = size_t{32} << 20;
constexpr int kMostAlgorithms = 32;
// A product of at least this size keeps the GPU busy enough to get hot.
constexpr double kLargeFlops = 2e10;
// Each variant runs at least twice. So all variants of a product take at most 0.15 s, at the rate of a cool GPU.
constexpr double kVariantsFlops = 4.5e13;
constexpr int kMostVariants = 32;

void check_blas(cublasStatus_t status, const char* what, const std::string& problem) {
  check(status == CUBLAS_STATUS_SUCCESS, "[einsum] {}, product {}: cuBLASLt error {}: {}", what, problem, int(status),
        cublasLtGetStatusString(status));
}

}  // namespace

struct Gemm::Library {
  Library(Device& d, const GemmProblem& p) : device(d), problem(p), key(to_string(p)) {}
  ~Library() {
    if (product) cublasLtMatmulDescDestroy(product);
  }
  void describe(const View& lt_a, const View& lt_b, const View& lt_y);
  void suggest();
  bool can_run(const cublasLtMatmulAlgo_t& algo) const;
  bool use_stored();
  template <class T>
  void set(cublasLtMatmulDescAttributes_t what, const T& value) {
    check_blas(cublasLtMatmulDescSetAttribute(product, what, &value, sizeof value), "describing it", key);
  }
  bool coded() const { return is_coded(problem.spec.a.dtype); }
  void set_scales(const void* of_a, const void* of_b) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, of_b), set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, of_a);
  }
  cublasStatus_t enqueue(const GemmArgs& args, const cublasLtMatmulAlgo_t& with);
  std::string name_of_way(const cublasLtMatmulAlgo_t& algo) const;
  Sample measure(const GemmArgs& args, const cublasLtMatmulAlgo_t& with, double settle, double ms);
  std::vector<float> result(const GemmArgs& args, const cublasLtMatmulAlgo_t& with);
  double flops() const {
    return 2.0 * double(problem.spec.m) * double(problem.spec.n) * double(problem.spec.k) * double(problem.batch);
  }
  void tell_of_long_looks() const;
  Fastest find_fastest(const GemmArgs& args);

  Device& device;
  GemmProblem problem;
  std::string key;
  cublasLtMatmulDesc_t product = nullptr;
  LibraryLayout left, right, y;                  // layouts of the library's operands: b, a and y
  std::vector<cublasLtMatmulAlgo_t> algorithms;  // the library's suggestions, then variants
  std::vector<int> tiles_of_variants;
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace = 0;
  bool chosen = false, loaded = false;
};

void Gemm::Library::describe(const View& lt_a, const View& lt_b, const View& lt_y) {
  const GemmSpec& s = problem.spec;
  check_blas(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing it", key);
  set(CUBLASLT_MATMUL_DESC_TRANSA, lt_a.op), set(CUBLASLT_MATMUL_DESC_TRANSB, lt_b.op);
  if (problem.bias) {
    const void* address = reinterpret_cast<const void*>(problem.alignment);  // only its alignment matters
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS), set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, address);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(s.c.dtype));
  }
  if (coded()) {
    const void* address = reinterpret_cast<const void*>(problem.alignment);
    set_scales(address, address), set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t(problem.fast));
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode_of(problem.b_scales));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode_of(problem.a_scales));
  }
  const auto [a_stride, b_stride, y_stride] = problem.batch_stride;
  check_blas(left.make(s.b.dtype, lt_a, problem.batch, b_stride), "describing b", key);
  check_blas(right.make(s.a.dtype, lt_b, problem.batch, a_stride), "describing a", key);
  check_blas(y.make(s.c.dtype, lt_y, problem.batch, y_stride), "describing y", key);
}

// The library's own list, in its order of preference. Empty if it has no kernel.
void Gemm::Library::suggest() {
  LibraryPreference p;
  check_blas(cublasLtMatmulPreferenceCreate(&p.it), "looking for algorithms", key);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
    check_blas(cublasLtMatmulPreferenceSetAttribute(p.it, what, &value, sizeof value), "looking for algorithms", key);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, u32(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(operand, u32(problem.alignment));
  std::vector<cublasLtMatmulHeuristicResult_t> found(kMostAlgorithms);
  int n = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(device.blas(), product, left.it, right.it, y.it, y.it,
                                                               p.it, kMostAlgorithms, found.data(), &n);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return;
  check_blas(status, "looking for algorithms", key);
  for (int i = 0; i < n; ++i) {
    if (found[i].state != CUBLAS_STATUS_SUCCESS) continue;
    algorithms.push_back(found[i].algo);
    workspace = std::max(workspace, found[i].workspaceSize);
  }
}

// Whether the algorithm is deterministic, and fits in the workspace.
bool Gemm::Library::can_run(const cublasLtMatmulAlgo_t& algo) const {
  cublasLtMatmulHeuristicResult_t result{};
  return is_deterministic(algo) &&
         cublasLtMatmulAlgoCheck(device.blas(), product, left.it, right.it, y.it, y.it, &algo, &result) ==
             CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= workspace;
}

// The file may be old, or damaged in ways that a checksum does not show. So its content is checked.
bool Gemm::Library::use_stored() {
  const GemmChoice* stored = device.gemm_choices().find(key);
  if (!stored || stored->algorithm.size() != sizeof(cublasLtMatmulAlgo_t)) return false;
  cublasLtMatmulAlgo_t candidate;
  std::memcpy(&candidate, stored->algorithm.data(), sizeof candidate);
  if (!can_run(candidate)) return false;
  algorithm = candidate;
  return true;
}

cublasStatus_t Gemm::Library::enqueue(const GemmArgs& args, const cublasLtMatmulAlgo_t& with) {
  const float one = 1, beta = args.plus ? 1 : 0;
  if (problem.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias);
  if (coded()) set_scales(args.a_scale, args.b_scale);
  return cublasLtMatmul(device.blas(), product, &one, args.b, left.it, args.a, right.it, &beta,
                        args.plus ? args.plus : args.y, y.it, args.y, y.it, &with, args.workspace, workspace,
                        args.stream);
}

// The properties that determine an algorithm's power: types, orientations, tiles; not the sizes.
std::string Gemm::Library::name_of_way(const cublasLtMatmulAlgo_t& algo) const {
  const GemmSpec& s = problem.spec;
  return fmt::format("{} {} {} {} {} {} {}", name_of(s.a.dtype), name_of(s.b.dtype), name_of(s.c.dtype), s.a.col == 1,
                     s.b.col == 1, problem.fast, settings(algo));
}

// Runs back to back for about `ms`, after about `settle` ms of the same.
Sample Gemm::Library::measure(const GemmArgs& args, const cublasLtMatmulAlgo_t& with, double settle, double ms) {
  CycleCounter counter(device.sms(), args.stream);
  const auto of = [&](int warm, int runs) {
    bool good = true;
    for (int i = 0; i < warm; ++i) good = good && enqueue(args, with) == CUBLAS_STATUS_SUCCESS;
    counter.begin();
    for (int i = 0; i < runs; ++i) good = good && enqueue(args, with) == CUBLAS_STATUS_SUCCESS;
    Sample s = counter.end();
    s.cycles /= runs;
    return good ? s : Sample{};
  };
  const Sample once = of(0, 1);
  const double each = once.cycles / once.mhz / 1e3;
  if (std::isinf(once.cycles) || each >= settle + ms) return once;
  return of(int(settle / each), std::max(1, int(ms / each)));
}

// Some rows of the algorithm's result. They are NaN where it writes nothing.
std::vector<float> Gemm::Library::result(const GemmArgs& args, const cublasLtMatmulAlgo_t& with) {
  cover(args.y, problem.spec, args.plus == args.y ? 0 : 0xFF, args.stream);
  enqueue(args, with);
  return some_rows(args.y, problem.spec, args.stream);
}

// Called once, by the first product that needs it.
void Gemm::Library::tell_of_long_looks() const {
  if (device.gemms().clocks.empty())
    log::info("measuring which algorithms multiply the fastest on this GPU, some 2 s for each product; kept in {}",
              device.gemm_choices().file());
}

Fastest Gemm::Library::find_fastest(const GemmArgs& args) {
  Ways ways;
  for (const cublasLtMatmulAlgo_t& a : algorithms) ways.names.push_back(name_of_way(a));
  ways.measure = [&](int way, double settle, double ms) { return measure(args, algorithms[way], settle, ms); };
  ways.hot = flops() >= kLargeFlops;
  ways.guessed_tiles = tiles_of_variants;
  ways.agrees = [&](int way) {
    const bool same = alike(result(args, algorithms[0]), result(args, algorithms[way]), problem.spec.c.dtype);
    if (!same)
      log::warn("product {}: cuBLASLt's {} computes something else than its first suggestion; it is not used", key,
                ways.names[way]);
    return same;
  };
  return fastest(ways, device.gemms().clocks);
}

Gemm::Gemm(Device& device, const GemmProblem& problem) : lt_(std::make_unique<Library>(device, problem)) {
  const GemmSpec& s = problem.spec;
  const View left = transposed(s.b, s.k, s.n), right = transposed(s.a, s.m, s.k), y = transposed(s.c, s.m, s.n);
  if (!is_library_kind(problem)) return;
  lt_->describe(left, right, y);
  lt_->suggest();
  if (!possible()) return;
  lt_->algorithm = lt_->algorithms[0];
  lt_->chosen = lt_->use_stored() || lt_->algorithms.size() == 1;
}

Gemm::~Gemm() = default;

bool Gemm::possible() const { return !lt_->algorithms.empty(); }
i64 Gemm::workspace() const { return i64(lt_->workspace + 255) / 256 * 256; }
bool Gemm::chosen() const { return lt_->chosen; }
int Gemm::num_algorithms() const { return int(lt_->algorithms.size()); }
void Gemm::use_algorithm(int algorithm) { lt_->algorithm = lt_->algorithms.at(size_t(algorithm)); }

int Gemm::add_variants() {
  const GemmSpec& s = lt_->problem.spec;
  if (!lt_->tiles_of_variants.empty() || lt_->device.capability() != 90 || s.a.dtype == DType::f32 ||
      lt_->problem.batch > 1)
    return 0;
  // For codes twice as many terms take a cycle.
  const TiledProduct product{s.n, s.m, lt_->coded() ? s.k / 2 : s.k, lt_->device.sms()};
  const int most = int(std::min<double>(kMostVariants, kVariantsFlops / lt_->flops()));
  const auto possible = [this](const cublasLtMatmulAlgo_t& a) { return lt_->can_run(a); };
  for (const Variant& v : variants(lt_->algorithms, product, most, possible))
    lt_->algorithms.push_back(v.algorithm), lt_->tiles_of_variants.push_back(v.tile);
  return int(lt_->tiles_of_variants.size());
}

void Gemm::run(const GemmArgs& args) const { check_blas(lt_->enqueue(args, lt_->algorithm), "running", lt_->key); }

void Gemm::tune(const GemmArgs& args) {
  // Another rank may have chosen since this was created; its choices precede those of this rank's file. If choices
  // are not kept, the library's first suggestion is used: the same in every run.
  if (!lt_->loaded) {
    use_algorithm(0);
    lt_->chosen = lt_->use_stored() || num_algorithms() == 1 || !lt_->device.gemm_choices().kept();
  }
  if (!chosen()) {
    if (lt_->flops() >= kLargeFlops) lt_->tell_of_long_looks(), add_variants();
    const Fastest best = lt_->find_fastest(args);
    check(best.way >= 0, "[einsum] product {}: none of cuBLASLt's {} algorithms runs", lt_->key, num_algorithms());
    use_algorithm(best.way);
    lt_->chosen = true;
    const u8* bytes = reinterpret_cast<const u8*>(&lt_->algorithm);
    lt_->device.gemm_choices().add(lt_->key, {{bytes, bytes + sizeof lt_->algorithm}, best.ms});
    lt_->use_stored();  // another process may have chosen first
  }
  if (!std::exchange(lt_->loaded, true)) run(args);  // loads its code to the GPU before a graph is captured
}

std::shared_ptr<Gemm> shared_gemm(Device& device, const GemmProblem& problem) {
  std::shared_ptr<Gemm>& gemm = device.gemms().products[to_string(problem)];
  if (!gemm) gemm = std::make_shared<Gemm>(device, problem);
  return gemm;
}

}  // namespace megalith::cuda
