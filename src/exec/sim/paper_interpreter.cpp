#include "exec/sim/paper_interpreter.h"

#include <algorithm>
#include <map>

#include "exec/sim/facts_clock.h"
#include "exec/sim/simulator.h"

namespace megalith::sim {

namespace {

class PaperInterpreter final : public Interpreter {
 public:
  PaperInterpreter(const Plan& plan, const Coord& coord, const DeviceFacts& facts)
      : plan_(plan), clock_(facts, coord) {}

  void run(int program, bool first, int) override { busy_ += seconds(program, first); }
  void make_ready(int, bool, int) override {}
  int send(const Leaf&, int, int, int) override { return 0; }
  int receive(const Leaf&, int, int, int) override { return 0; }
  void join(int) override {}
  void write(const Leaf&, const void*, int) override {}
  void read(const Leaf& leaf, void* data) override {
    std::fill_n(static_cast<std::byte*>(data), leaf.bytes, std::byte{});
  }
  void write_part(const Leaf&, i64, std::span<const std::byte>) override {}
  void read_part(const Leaf&, i64, std::span<std::byte> out) override { std::ranges::fill(out, std::byte{}); }
  std::byte* host_memory(i64 bytes) override {
    host_.resize(std::max(host_.size(), size_t(bytes)));
    return host_.data();
  }
  void copy_on_device(i64) override {}
  void begin_copies(std::span<const Copy>) override {}
  void wait_for_copies() override {}
  void draw(const Leaf&, const Draw&) override {}
  std::byte* host_view(const Leaf&) override { return nullptr; }
  std::span<const double> scalars(int program, const std::string& output) override {
    zeros_.assign(size_t(buffer(program, output).type.elements()), 0);
    return zeros_;
  }
  void read_output(int program, const std::string& output, void* data) override {
    std::fill_n(static_cast<std::byte*>(data), buffer(program, output).bytes, std::byte{});
  }
  int request(int program, const std::string& output) override {
    asked_.push_back(size_t(buffer(program, output).type.elements()));
    return int(asked_.size()) - 1;
  }
  bool ready(int) override { return true; }
  double arrived(int) override { return 0; }
  std::vector<double> take(int ticket) override { return std::vector<double>(asked_.at(size_t(ticket)), 0.0); }
  void write_after(int, const Leaf&, Fill) override {}
  void profile(bool) override {}
  double busy_seconds() override { return std::exchange(busy_, 0); }
  double own_seconds() override { return 0; }
  std::vector<double> time_instructions(int program) override {
    std::vector<double> out;
    const Program& p = plan_.programs[size_t(program)];
    for (const Instruction& in : p.instructions) out.push_back(clock_.seconds(plan_, p, in).total());
    return out;
  }

 private:
  const Buffer& buffer(int program, const std::string& output) const {
    const Program& p = plan_.programs[size_t(program)];
    return p.buffers[size_t(p.outputs.at(output))];
  }
  double seconds(int program, bool first) {
    const auto [it, is_new] = known_.emplace(std::pair(program, first), 0.0);
    if (is_new) it->second = simulate(plan_, plan_.programs[size_t(program)], clock_, first).total.seconds;
    return it->second;
  }

  const Plan& plan_;
  FactsClock clock_;
  std::map<std::pair<int, bool>, double> known_;
  std::vector<std::byte> host_;
  std::vector<double> zeros_;
  std::vector<size_t> asked_;
  double busy_ = 0;
};

}  // namespace

std::unique_ptr<Interpreter> make_paper_interpreter(const Plan& plan, const Coord& coord, const DeviceFacts& facts) {
  return std::make_unique<PaperInterpreter>(plan, coord, facts);
}

}  // namespace megalith::sim
