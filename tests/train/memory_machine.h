// A backend with a given amount of memory, and the memory need of plans on it.
#pragma once
#include "planner/memory_check.h"
#include "settings/schedules.h"

namespace megalith {

// It cannot run a plan.
struct Memory : Backend {
  i64 memory = 0;
  std::optional<i64> host{};
  std::string name() const override { return "none"; }
  std::string device_name() const override { return "none"; }
  i64 workspace_bytes(const Graph&, const Node&) const override { return 0; }
  i64 fixed_bytes() const override { return 1 << 20; }
  i64 available_bytes() const override { return memory; }
  i64 peak_bytes() const override { return 0; }
  std::optional<i64> host_bytes() const override { return host; }
  std::unique_ptr<Interpreter> make_interpreter(const Plan&, const Coord&) const override { return nullptr; }
};

inline MemoryNeed need_of(const Options& options, const Memory& machine) {
  return memory_need(options, plan_step(step_spec(options), machine), machine, false);
}

inline std::string refusal(const Options& options, const Memory& machine) {
  try {
    check_memory(options, need_of(options, machine), machine);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace megalith
