// step-bench: tokens/s of whole training steps (forward, backward, clipping, AdamW) on random tokens. Without flags:
// GPT-2 124M (12 layers, hidden 768, 12 heads) at batch 4 x 64 and 1 x 1024, in f32 and bf16. With --llama and sizes: a
// Llama-like model of the same shape as another program's.
// --ops: also where the time goes, beside the simulator's floor.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "config/parse.h"
#include "config/show.h"
#include "exec/cpu/backend.h"
#include "exec/cpu/executor.h"
#include "exec/sim/simulator.h"
#include "models/parameter.h"
#include "ops/update.h"
#include "train/step.h"

namespace megalith {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct Flags {
  bool llama = false, ops = false, bf16 = false;
  std::vector<std::string> passes_off;
  i64 layers = 12, hidden = 768, ffn = 0, heads = 12, kv = 0, vocab = 50257, seq = 0, batch = 1, steps = 5;
};

void list_fields(Flags& c, config::FieldList& f) {
  f.add("llama", c.llama, "RMSNorm, SwiGLU, rope, no biases, untied embeddings.");
  f.add("ops", c.ops, "Where the time goes.");
  f.add("passes-off", c.passes_off, "Names of passes to leave out.");
  f.add("bf16", c.bf16, "Compute in bf16.");
  f.add("layers", c.layers, "Layers."), f.add("hidden", c.hidden, "Hidden size."),
      f.add("ffn", c.ffn, "MLP width; 0: the usual.");
  f.add("heads", c.heads, "Query heads."), f.add("kv", c.kv, "KV heads; 0: as many."),
      f.add("vocab", c.vocab, "Tokens.");
  f.add("seq", c.seq, "Sequence length; 0: the four default cases."), f.add("batch", c.batch, "Sequences.");
  f.add("steps", c.steps, "Measured steps.");
}

StepSpec step_spec(const Flags& f, i64 batch, i64 seq, DType dtype) {
  StepSpec s;
  ModelConfig& m = s.model;
  m.num_layers = f.layers, m.hidden_size = f.hidden, m.ffn_hidden_size = f.ffn;
  m.num_attention_heads = f.heads, m.num_query_groups = f.kv;
  m.seq_length = seq, m.max_position_embeddings = std::max<i64>(seq, 1024), m.vocab_size = f.vocab;
  if (f.llama) {
    m.position_embedding_type = PositionEmbedding::rope, m.normalization = Normalization::rms_norm;
    m.activation = Activation::swiglu, m.add_bias_linear = false, m.untie_embeddings_and_output_weights = true;
  }
  m.resolve();
  s.optimizer.lr = 1e-4, s.optimizer.weight_decay = 0.1;
  s.shape.batch = batch, s.shape.dtype = dtype;
  s.passes_off = {f.passes_off.begin(), f.passes_off.end()};
  return s;
}

class StepBench {
 public:
  StepBench(const Flags& flags, i64 batch, i64 seq, DType dtype)
      : spec_(step_spec(flags, batch, seq, dtype)),
        step_(plan_step(spec_, *make_cpu_backend())),
        executor_(step_.plan, Coord{}) {
    fill();
  }

  // Seconds of the fastest and the median step.
  std::pair<double, double> run(i64 steps) {
    step();
    std::vector<double> times;
    for (i64 i = 0; i < steps; ++i) {
      const auto start = Clock::now();
      step();
      times.push_back(seconds_since(start));
    }
    std::sort(times.begin(), times.end());
    return {times.front(), times[times.size() / 2]};
  }

  void print_ops() {
    const Program& p = step_.plan.program(kProgram);
    const int index = executor_.program_index(kProgram);
    std::map<std::string, double> spent;
    for (int i = 0; i < int(p.instructions.size()); ++i) {
      const auto start = Clock::now();
      executor_.run_instruction(index, i, true);
      spent[kind(p, p.instructions[i])] += seconds_since(start);
    }
    std::vector<std::pair<double, std::string>> rows;
    for (auto& [op, t] : spent) rows.push_back({t, op});
    std::sort(rows.rbegin(), rows.rend());
    for (auto& [t, op] : rows) fmt::print("    {:<44} {:>9.3f} ms\n", op, t * 1e3);
    fmt::print("{}", sim::print(sim::simulate(step_.plan, p, sim::this_cpu())));
  }

 private:
  static std::string kind(const Program& p, const Instruction& in) {
    if (const auto* e = in.op.get_if<Einsum>())
      return fmt::format("einsum {}{}{}", e->spec, e->accumulate ? " +=" : "",
                         p.buffers[in.outs[0]].bytes > (100 << 20) ? " (vocabulary)" : "");
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
      reinterpret_cast<i32*>(executor_.leaf("tokens"))[i] = i32(mix_all(3, i) % u64(spec_.model.vocab_size));
      reinterpret_cast<i32*>(executor_.leaf("labels"))[i] = i32(mix_all(4, i) % u64(spec_.model.vocab_size));
      reinterpret_cast<float*>(executor_.leaf("loss_mask"))[i] = 1;
      if (step_.plan.find_leaf("position_ids"))
        reinterpret_cast<i32*>(executor_.leaf("position_ids"))[i] = i32(i / spec_.shape.batch);
    }
    const double hyper[hyper::kSize] = {1e-4, 0.1, 0.1, 0.05};
    std::memcpy(executor_.leaf("hyper"), hyper, sizeof hyper);
  }

  void step() { executor_.run(executor_.program_index(kProgram), true); }

  static constexpr const char* kProgram = "last-micro-batch";

  StepSpec spec_;
  PlannedStep step_;
  cpu::Executor executor_;
};

void measure(const Flags& f, i64 batch, i64 seq, DType dtype) {
  StepBench bench(f, batch, seq, dtype);
  const auto [best, median] = bench.run(f.steps);
  const double tokens = double(batch * seq);
  fmt::print("{:<22} {} x {:<5} {:<5} {:>8.1f} tokens/s (median {:.1f})   {:.1f} ms a step\n",
             f.seq ? "model" : "GPT-2 124M", batch, seq, name_of(dtype), tokens / best, tokens / median, best * 1e3);
  if (f.ops) bench.print_ops();
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Flags f;
  config::FieldList fields = config::fields_of(f);
  const config::ParseResult r = config::parse(fields, std::vector<std::string>(argv + 1, argv + argc));
  if (r.help) return fmt::print("{}\n", config::help_text(fields)), 0;
  if (f.seq > 0) return measure(f, f.batch, f.seq, f.bf16 ? DType::bf16 : DType::f32), 0;
  for (const auto [batch, seq] : {std::pair<i64, i64>{4, 64}, {1, 1024}})
    for (DType dtype : {DType::f32, DType::bf16}) measure(f, batch, seq, dtype);
  return 0;
}

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  try {
    return megalith::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "step-bench: {}\n", e.what());
    return 1;
  }
}
