// A device that computes nothing. A script decides which steps are skipped. Results are ready immediately, or only when
// the run waits for them.
#pragma once
#include <vector>

#include "ops/update.h"
#include "plan/interpreter.h"

namespace megalith {

class ScriptedInterpreter final : public Interpreter {
 public:
  ScriptedInterpreter(std::vector<bool> counts, bool late) : counts_(std::move(counts)), late_(late) {}
  std::vector<double> step_scalars_in;  // for all steps, in order
  bool waits_for_results = false;       // true if a write followed a step whose result was not taken

  void run(int, bool, int) override {}
  int send(const Leaf&, int, int, int) override { return 0; }
  int receive(const Leaf&, int, int, int) override { return 0; }
  void join(int) override {}
  void write(const Leaf& leaf, const void* data, int) override {
    if (leaf.name != "step_scalars_in") return;
    const auto* values = static_cast<const double*>(data);
    step_scalars_in.insert(step_scalars_in.end(), values, values + 4);
  }
  void read(const Leaf&, void*) override {}
  void write_part(const Leaf&, i64, std::span<const std::byte>) override {}
  void read_part(const Leaf&, i64, std::span<std::byte>) override {}
  void make_ready(int, bool, int) override {}
  void copy_on_device(i64) override {}
  std::byte* host_memory(i64) override { return nullptr; }
  void begin_copies(std::span<const Copy>) override {}
  void wait_for_copies() override {}
  void draw(const Leaf&, const Draw&) override {}
  std::byte* host_view(const Leaf&) override { return nullptr; }
  std::span<const double> scalars(int, const std::string&) override { return {}; }
  void read_output(int, const std::string&, void*) override {}
  int request(int, const std::string&) override { return step_++; }
  bool ready(int) override { return !late_; }
  double arrived(int) override { return 0; }
  std::vector<double> take(int ticket) override { return {double(ticket), 1, 1, counts_[size_t(ticket)] ? 1.0 : 0.0}; }
  void write_after(int ticket, const Leaf& leaf, Fill fill) override {
    waits_for_results = true;
    std::vector<std::byte> data(size_t(leaf.bytes));
    fill(take(ticket), data.data());
    write(leaf, data.data(), 0);
  }
  void profile(bool) override {}
  double busy_seconds() override { return 0; }
  double own_seconds() override { return 0; }
  std::vector<double> time_instructions(int) override { return {}; }

 private:
  std::vector<bool> counts_;
  bool late_;
  int step_ = 0;
};

}  // namespace megalith
