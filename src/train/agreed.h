// What the ranks of a run must have in common.
#pragma once
#include "base/threads.h"
#include "comm/on_all_ranks.h"
#include "plan/interpreter.h"
#include "settings/options.h"

namespace megalith {

inline Agreed agreed_flags(const Options& options) {
  Agreed out{.what = "the flags", .text = arguments_text(options)};
  out.values = out.text;
  return out;
}

// Two sets of CPU kernels round differently, so copies of a weight on two ranks would drift apart.
inline Agreed agreed_kernels(const Backend& backend) {
  return {"the CPU kernels", backend.kernels(), "give --cpu-kernels baseline, because the CPUs of the hosts differ"};
}

// With the same flags, plans differ if the devices do, or on the CPU the numbers of threads.
inline Agreed agreed_plans(const Plan& plan) {
  return {.what = "the plans",
          .text = print(plan),
          .cure = "use devices of one kind, and set OMP_NUM_THREADS to the same number on all ranks",
          .values = fmt::format("threads {}", num_threads())};
}

}  // namespace megalith
