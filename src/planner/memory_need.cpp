#include "planner/memory_need.h"

#include <algorithm>
#include <filesystem>

#include "base/process_memory.h"
#include "data/indexed_dataset.h"
#include "resume/state_save.h"
#include "state/read_state.h"

namespace megalith {

static bool has_narrow_state(const Plan& plan) {
  return std::ranges::any_of(plan.leaves,
                             [](const Leaf& l) { return l.role == Role::optimizer && l.type.dtype != DType::f32; });
}

// A read takes pieces of bounded size (state/read_state.h). Random bf16 weights need the f32 values of a tensor.
static i64 start_bytes(const PlannedStep& step, const Backend& backend, bool resumes) {
  const Plan& plan = step.plan;
  i64 largest = 0;
  for (const Parameter& p : step.parameters) largest = std::max(largest, p.type.elements() * 4);
  const auto bytes = [&](Role role) { return plan.bytes(role) + plan.bytes(role, true); };
  const bool on_host = !backend.host_bytes(), has_copies = bytes(Role::main_parameter) > 0 || has_narrow_state(plan);
  const i64 beside = resumes ? state_reading_bytes(largest, on_host, has_copies) : largest;
  if (!on_host) return beside;
  const i64 touched = bytes(Role::parameter) + bytes(Role::main_parameter) + (resumes ? bytes(Role::optimizer) : 0);
  return std::max<i64>(0, touched + beside - plan.arena_bytes - plan.host_bytes);
}

static i64 copy_bytes(const Options& o, const PlannedStep& step) {
  return o.train.async_save && !o.train.save.empty() ? state_share_bytes(step, largest_share(o.train)) : 0;
}

// At most this many bytes of each dataset's index stay mapped (IndexedDataset::read).
static i64 data_bytes(const DataConfig& d) {
  i64 bytes = 0;
  for (const auto* list : {&d.data_path, &d.train_data_path, &d.valid_data_path, &d.test_data_path})
    for (const std::string& prefix : *list) {  // or a weight, which names no file
      std::error_code none;
      const auto size = std::filesystem::file_size(prefix + ".idx", none);
      if (!none) bytes += std::min(i64(size), IndexedDataset::kKeptBytes);
    }
  return bytes;
}

// Measured with /proc/PID/smaps of runs with and without --save: the read-ahead thread, the writer thread, those of
// the Prometheus endpoint, and texts of W&B. Five sixths are pages of code and constants that only these use. A
// resumed run has used most of them already.
static i64 others_bytes(const TrainConfig& t, bool resumes) {
  constexpr i64 kEvaluation = i64{512} << 10, kSaving = i64{896} << 10, kSavingAgain = i64{512} << 10,
                kEndpoint = i64{4352} << 10, kWandb = i64{128} << 10;
  const i64 sinks = (t.observe.prometheus_port >= 0 ? kEndpoint : 0) + (t.observe.wandb_project.empty() ? 0 : kWandb);
  return (t.evaluates() ? kEvaluation : 0) + (t.save.empty() ? 0 : resumes ? kSavingAgain : kSaving) + sinks;
}

MemoryNeed memory_need(const Options& o, const PlannedStep& step, const Backend& backend, bool resumes) {
  forget_peak_resident();                           // MPI's start may have needed more for a moment
  constexpr i64 kRoom = i64{1} << 30;               // that such copies leave free: libraries allocate more at first use
  constexpr i64 kBytesPerToken = 20, kBatches = 2;  // five arrays; the current batch and the next one
  const i64 tokens = o.train.micro_batch_size * o.model.seq_length;
  MemoryNeed need{.arena = step.plan.arena_bytes,
                  .host_state = step.plan.host_bytes,
                  .process = backend.fixed_bytes(),
                  .batches = kBatches * kBytesPerToken * tokens + 4 * tokens,
                  .start = start_bytes(step, backend, resumes),
                  .data = data_bytes(o.data),
                  .others = others_bytes(o.train, resumes),
                  .copies = copy_bytes(o, step),
                  .saving = saving_bytes(step, o.train, backend.host_bytes().has_value()),
                  .host = backend.host_bytes(),
                  .resumes = resumes};
  // The size of the state; offloaded parts are copied on the host.
  const bool all_there = step.plan.host_bytes == step.plan.bytes(Role::kept, true);
  if (need.host && all_there)
    need.device_copies = std::clamp<i64>(backend.available_bytes() - need.total() - kRoom, 0, need.copies);
  return need;
}

}  // namespace megalith
