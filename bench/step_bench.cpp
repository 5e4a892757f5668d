// step-bench [--ops] [--steps N]: tokens/s of whole GPT-2 124M training steps (12 layers, hidden 768, 12 heads; forward, backward, clipping, AdamW) on
// random tokens, at batch 4 x 64 and 1 x 1024, in f32 and bf16. --ops: also where the time goes, beside the simulator's floor.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "exec/cpu/executor.h"
#include "exec/cpu/backend.h"
#include "exec/sim/simulator.h"
#include "models/parameter.h"
#include "ops/update.h"
#include "train/step.h"

namespace megalith {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

StepSpec gpt2_124m(i64 batch, i64 seq, DType dtype) {
  StepSpec s;
  ModelConfig& m = s.model;
  m.num_layers = 12, m.hidden_size = 768, m.num_attention_heads = 12;
  m.seq_length = seq, m.max_position_embeddings = 1024, m.vocab_size = 50257;
  m.resolve();
  s.optimizer.lr = 1e-4, s.optimizer.weight_decay = 0.1;
  s.shape.batch = batch, s.shape.dtype = dtype;
  return s;
}

class StepBench {
 public:
  StepBench(i64 batch, i64 seq, DType dtype)
      : spec_(gpt2_124m(batch, seq, dtype)), step_(plan_step(spec_, *make_cpu_backend())), executor_(step_.plan, Coord{}) {
    fill();
  }

  // Seconds of the fastest and the median step.
  std::pair<double, double> run(int steps) {
    step();
    std::vector<double> times;
    for (int i = 0; i < steps; ++i) {
      const auto start = Clock::now();
      step();
      times.push_back(seconds_since(start));
    }
    std::sort(times.begin(), times.end());
    return {times.front(), times[times.size() / 2]};
  }

  void print_ops() {
    for (const char* name : {"micro-batch", "update"}) {
      const Program& p = step_.plan.program(name);
      const int index = executor_.program_index(name);
      std::map<std::string, double> spent;
      for (int i = 0; i < int(p.instructions.size()); ++i) {
        const auto start = Clock::now();
        executor_.run_instruction(index, i, true);
        spent[kind(p, p.instructions[i])] += seconds_since(start);
      }
      std::vector<std::pair<double, std::string>> rows;
      for (auto& [op, t] : spent) rows.push_back({t, op});
      std::sort(rows.rbegin(), rows.rend());
      for (auto& [t, op] : rows) fmt::print("    {:<12} {:<44} {:>9.3f} ms\n", name, op, t * 1e3);
      fmt::print("{}", sim::print(sim::simulate(step_.plan, p, sim::this_cpu())));
    }
  }

 private:
  static std::string kind(const Program& p, const Instruction& in) {
    if (const auto* e = in.op.get_if<Einsum>())
      return fmt::format("einsum {}{}{}", e->spec, e->accumulate ? " +=" : "", p.buffers[in.outs[0]].bytes > (100 << 20) ? " (vocabulary)" : "");
    return std::string(in.op.name());
  }

  void fill() {
    for (const Parameter& p : step_.parameters) {
      std::vector<float> w(size_t(p.type.elements()));
      init_parameter(p, step_.plan.mesh, Coord{}, 1, w.data());
      const Leaf* main = step_.plan.find_leaf(p.name + ".main");
      if (main) std::memcpy(executor_.leaf(main->name), w.data(), w.size() * 4);
      if (!main) {
        std::memcpy(executor_.leaf(p.name), w.data(), w.size() * 4);
      } else {
        const std::vector<bf16> narrow(w.begin(), w.end());
        std::memcpy(executor_.leaf(p.name), narrow.data(), narrow.size() * 2);
      }
    }
    const i64 n = spec_.model.seq_length * spec_.shape.batch;
    for (i64 i = 0; i < n; ++i) {
      reinterpret_cast<i32*>(executor_.leaf("tokens"))[i] = i32(mix_all(3, i) % 50257);
      reinterpret_cast<i32*>(executor_.leaf("labels"))[i] = i32(mix_all(4, i) % 50257);
      reinterpret_cast<float*>(executor_.leaf("loss_mask"))[i] = 1;
      reinterpret_cast<i32*>(executor_.leaf("position_ids"))[i] = i32(i / spec_.shape.batch);
    }
    const double hyper[hyper::kSize] = {1e-4, 0.1, 0.1, 0.05};
    std::memcpy(executor_.leaf("hyper"), hyper, sizeof hyper);
  }

  void step() {
    executor_.run(executor_.program_index("micro-batch"), true);
    executor_.run(executor_.program_index("update"));
  }

  StepSpec spec_;
  PlannedStep step_;
  cpu::Executor executor_;
};

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  using namespace megalith;
  bool ops = false;
  int steps = 5;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--ops")) ops = true;
    if (!std::strcmp(argv[i], "--steps") && i + 1 < argc) steps = std::max(1, std::atoi(argv[++i]));
  }
  for (const auto [batch, seq] : {std::pair<i64, i64>{4, 64}, {1, 1024}}) {
    for (DType dtype : {DType::f32, DType::bf16}) {
      StepBench bench(batch, seq, dtype);
      const auto [best, median] = bench.run(steps);
      const double tokens = double(batch * seq);
      fmt::print("GPT-2 124M {} x {:<5} {:<5} {:>8.1f} tokens/s (median {:.1f})   {:.1f} ms a step\n", batch, seq, name_of(dtype),
                 tokens / best, tokens / median, best * 1e3);
      if (ops) bench.print_ops();
    }
  }
}
