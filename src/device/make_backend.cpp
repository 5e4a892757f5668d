#include "device/make_backend.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "exec/best_cpu/best_cpu.h"
#include "exec/cuda/backend.h"
#include "exec/sim/measured_backend.h"
#include "exec/sim/paper_backend.h"
#include "facts/facts_file.h"

namespace megalith {

namespace fs = std::filesystem;

std::string gemm_cache_path(const DeviceOptions& options) {
  if (options.gemm_cache_file == "none") return {};
  if (!options.gemm_cache_file.empty()) return options.gemm_cache_file;
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  fs::path folder;
  if (cache && *cache)
    folder = cache;
  else if (home && *home)
    folder = fs::path(home) / ".cache";
  else
    return {};
  return folder / "megalith" / "gemm-algorithms.json";
}

// The variable by which users disable access between GPUs where it does not work.
static bool is_peer_access_disabled() {
  const char* disabled = std::getenv("NCCL_P2P_DISABLE");
  return disabled && *disabled && std::string_view(disabled) != "0";
}

static CudaOptions cuda_options(const DeviceOptions& options, Ranks* ranks) {
  const fs::path file = gemm_cache_path(options);
  std::error_code ignored;  // an unwritable file is reported when it is written
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  return {.sees_own = std::getenv("MEGALITH_OWN_DEVICE") != nullptr,
          .is_shared = std::getenv("MEGALITH_HAS_STANDBY") && !std::getenv("MEGALITH_STANDBY"),
          .gemm_cache = file,
          .ranks = ranks,
          .symmetric_memory = !options.no_symmetric_memory && !is_peer_access_disabled(),
          .timeout_seconds = options.timeout_seconds};
}

void settle_drivers() { settle_cuda_driver(); }

std::unique_ptr<Backend> make_backend(const DeviceOptions& options, Ranks* ranks) {
  if (options.kind() == DeviceKind::paper) {
    check(
        names_facts(options.device),
        "--device {}: want auto, cpu or cuda or, to plan for a device that is not here, {} or a file of facts (*.yaml)",
        options.device, fmt::join(names_of_facts(), ", "));
    const DeviceFacts facts = find_facts(options.device);
    if (facts.device == "CPU") {  // calibrate's name of it: such a file has no GPU's sizes
      auto measured = std::make_unique<sim::MeasuredBackend>(make_best_cpu_backend(ranks, options.cpu_kernels), facts);
      log::info("device: {}: plans are this CPU's", measured->device_name());
      return measured;
    }
    auto backend = sim::make_paper_backend(facts, !options.no_symmetric_memory);
    log::info("device: {}, which need not be here: plans are made from its facts", backend->device_name());
    return backend;
  }
  const bool given = options.kind() != DeviceKind::automatic;
  const std::string missing = options.kind() == DeviceKind::cpu ? "" : why_no_cuda();
  const bool cuda = options.kind() == DeviceKind::cuda || (!given && missing.empty());
  auto backend =
      cuda ? make_cuda_backend(cuda_options(options, ranks)) : make_best_cpu_backend(ranks, options.cpu_kernels);
  const std::string why = given  ? (cuda ? "--device cuda" : "--device cpu")
                          : cuda ? "there is a GPU; --device cpu computes on the CPU"
                                 : missing;
  const std::string set = backend->kernels().empty() ? "" : fmt::format("; kernels: {}", backend->kernels());
  log::info("device: {} ({}{})", backend->device_name(), why, set);
  return backend;
}

}  // namespace megalith
