// gpu-trace: a library that CUDA loads into a program when CUDA_INJECTION64_PATH names it. CUPTI records when every
// kernel and copy ran. When the program ends, the library prints two times for its last milliseconds: of computation,
// and of transfers between GPUs. It also prints how much of the transfers did not overlap computation (exposed), and
// how long nothing ran.
//   CUDA_INJECTION64_PATH=build/bin/libgpu-trace.so GPU_TRACE_MS=4000 mpirun -n 4 build/bin/megalith pretrain-gpt ...
// GPU_TRACE_MS: the number of milliseconds, 2000 if unset. Choose whole steps at the end of a run, without evaluation
// or saves. Transfers are NCCL's kernels and those of symmetric memory. They count from the time when a GPU begins to
// wait for the others. The last lines are the computing kernels by their time. GPU_TRACE_SPANS=FILE: writes all events
// to FILE.RANK, for scripts/trace-waiting.
#include <cupti.h>
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

using Nanoseconds = std::uint64_t;

struct Span {
  Nanoseconds begin = 0, end = 0;
};

struct Ran {
  Span span;
  const std::string* name = nullptr;  // of Trace::names
  std::uint32_t stream = 0;
  bool transfer = false, copy = false;
};

void drop(std::string& text, const std::string& part) {
  for (size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
}

// A kernel's name as source has it, without its arguments and our namespaces.
std::string readable(const std::string& mangled) {
  int status = 0;
  char* plain = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 ? plain : mangled;
  std::free(plain);
  for (const char* part : {"(anonymous namespace)::", "megalith::", "cuda::", "void "}) drop(text, part);
  if (text.ends_with(')')) text.erase(text.rfind('('));
  return text;
}

struct Trace {
  std::mutex busy;
  std::map<std::string, std::string> names;  // as CUDA reports them, and demangled
  std::vector<Ran> ran;

  void add(const char* name, Nanoseconds begin, Nanoseconds end, std::uint32_t stream, bool copy) {
    const std::string whole = name ? name : "?";
    if (whole.find("4markEPV") != std::string::npos) return;  // exec/cuda/mark.cu, which only records the time
    const auto [at, fresh] = names.try_emplace(whole);
    if (fresh) at->second = readable(whole);
    const bool transfer = whole.find("nccl") != std::string::npos || whole.find("symmetric") != std::string::npos;
    ran.push_back({{begin, end}, &at->second, stream, transfer, copy});
  }
};

Trace& trace() {
  static Trace* kept = new Trace;  // never destroyed: CUPTI's threads may outlive main
  return *kept;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *bytes = std::size_t{8} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
  *records = 0;
  if (*buffer) return;
  *bytes = 0;  // CUPTI drops what would have been recorded there, and report() prints the number
  fmt::print(stderr, "gpu-trace: no memory for another 8 MiB of records: make GPU_TRACE_MS or the run shorter\n");
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard hold(trace().busy);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto* k = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      trace().add(k->name, k->start, k->end, k->streamId, false);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto* c = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      trace().add("copy", c->start, c->end, c->streamId, true);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
      const auto* c = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
      trace().add("symmetric copy", c->start, c->end, c->streamId, true);
    }
  }
  std::free(buffer);
}

// The spans as a sorted list without overlaps.
std::vector<Span> joined(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> out;
  for (const Span& s : spans) {
    if (out.empty() || s.begin > out.back().end) out.push_back(s);
    out.back().end = std::max(out.back().end, s.end);
  }
  return out;
}

double milliseconds(const std::vector<Span>& spans) {
  Nanoseconds sum = 0;
  for (const Span& s : spans) sum += s.end - s.begin;
  return double(sum) / 1e6;
}

// The part of the span that the sorted list does not cover.
double alone(const Span& span, const std::vector<Span>& others) {
  Nanoseconds covered = 0;
  auto it = std::lower_bound(others.begin(), others.end(), span.begin,
                             [](const Span& s, Nanoseconds t) { return s.end < t; });
  for (; it != others.end() && it->begin < span.end; ++it)
    covered += std::min(it->end, span.end) - std::min(std::max(it->begin, span.begin), span.end);
  return double(span.end - span.begin - covered) / 1e6;
}

// A line for each computing kernel with more than 0.2% of `length`.
std::string computing_kernels(const std::vector<Ran>& ran, Nanoseconds length) {
  std::map<std::string, std::pair<double, int>> kinds;  // ms, times
  for (const Ran& r : ran)
    if (!r.transfer && !r.copy) kinds[*r.name].first += milliseconds({r.span}), ++kinds[*r.name].second;
  std::vector<std::pair<std::string, std::pair<double, int>>> sorted(kinds.begin(), kinds.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  std::string text;
  for (const auto& [name, k] : sorted)
    if (k.first > 0.002 * double(length) / 1e6)
      text += fmt::format("  {:9.2f} ms {:5.1f}% {:6} times  {}\n", k.first, 100 * k.first * 1e6 / double(length),
                          k.second, name.substr(0, 100));
  return text;
}

// A line for each kernel and copy: its begin and end, its stream, and whether it is a transfer, a copy or
// computation.
void write_spans(const std::string& path, const std::vector<Ran>& ran) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return fmt::print(stderr, "gpu-trace: {} cannot be written\n", path);
  for (const Ran& r : ran)
    fmt::print(file, "{} {} {} {} {}\n", r.span.begin, r.span.end, r.stream,
               r.transfer ? "transfer"
               : r.copy   ? "copy"
                          : "computes",
               *r.name);
  std::fclose(file);
}

void report() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard hold(trace().busy);
  Nanoseconds last = 0;
  std::size_t dropped = 0;
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  if (dropped > 0) fmt::print(stderr, "gpu-trace: {} records are missing: the sums are too small\n", dropped);
  for (const Ran& r : trace().ran) last = std::max(last, r.span.end);
  const char* asked = std::getenv("GPU_TRACE_MS");
  const Nanoseconds length = Nanoseconds(asked ? std::atof(asked) * 1e6 : 2e9), first = last - std::min(length, last);
  std::vector<Span> computing, anything, transfers;
  std::erase_if(trace().ran, [&](const Ran& r) { return r.span.end <= first; });
  for (Ran& r : trace().ran) {
    r.span.begin = std::max(r.span.begin, first);
    anything.push_back(r.span);
    if (r.transfer) transfers.push_back(r.span);
    if (!r.transfer && !r.copy) computing.push_back(r.span);
  }
  if (anything.empty()) return;
  const std::vector<Span> computes = joined(computing);
  struct Kind {
    int times = 0;
    double busy = 0, alone = 0;
  };
  std::map<std::pair<std::string, std::uint32_t>, Kind> kinds;
  for (const Ran& r : trace().ran) {
    if (!r.transfer && !r.copy) continue;
    Kind& k = kinds[{*r.name, r.stream}];
    ++k.times, k.busy += milliseconds({r.span}), k.alone += alone(r.span, computes);
  }
  double exposed = 0;
  for (const Span& s : joined(transfers)) exposed += alone(s, computes);
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  std::string text = fmt::format(
      "gpu-trace, rank {}: of {:.1f} ms, computing {:.1f}, transfers {:.1f}, of them exposed "
      "{:.1f}, idle {:.1f}\n",
      rank ? rank : "0", double(length) / 1e6, milliseconds(computes), milliseconds(joined(transfers)), exposed,
      double(length) / 1e6 - milliseconds(joined(anything)));
  for (const auto& [key, k] : kinds)
    text += fmt::format("  stream {:3} {:<48} {:5} times, {:8.1f} ms, nothing computed for {:7.1f}\n", key.second,
                        key.first.substr(0, 48), k.times, k.busy, k.alone);
  fmt::print(stderr, "{}{}", text, computing_kernels(trace().ran, length));
  if (const char* spans = std::getenv("GPU_TRACE_SPANS"))
    write_spans(fmt::format("{}.{}", spans, rank ? rank : "0"), trace().ran);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  std::uint32_t version = 0;  // the records have the layout of the headers, which an older library does not know
  if (cuptiGetVersion(&version) != CUPTI_SUCCESS || version < CUPTI_API_VERSION) {
    fmt::print(stderr,
               "gpu-trace: CUPTI's API version is {}, and {} or later is needed: put its library first in "
               "LD_LIBRARY_PATH\n",
               version, CUPTI_API_VERSION);
    return 0;
  }
  if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS) return 0;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2})
    if (cuptiActivityEnable(kind) != CUPTI_SUCCESS) fmt::print(stderr, "gpu-trace: CUPTI refuses to note what runs\n");
  std::atexit(report);
  return 1;
}
