// step-bench measures whole training steps (forward, backward, clipping, AdamW) on random tokens, without dropout. It
// prints tokens/s, ms per step, model TFLOP/s and MFU (defined in step/model_size.h), and the plan's bytes and the
// device's. --model: a shape that other programs are measured with, in bf16. Without flags: GPT-2 124M at batch 4 x
// 64 and 1 x 1024, in f32 and bf16, on the CPU. Otherwise a GPT-2- or Llama-like model with the given sizes. Steps
// are timed in three ways: one by one, each waited for; in a row, waited for at the end; and in a row between events,
// which show how long the device was idle. --ops: also prints the time of each op next to the simulator's floor.
#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "config/parse.h"
#include "config/show.h"
#include "device/make_backend.h"
#include "exec/sim/facts_clock.h"
#include "exec/sim/paper_backend.h"
#include "exec/sim/simulator.h"
#include "facts/facts_file.h"
#include "models/gpt/gpt.h"
#include "observe/peak_flops.h"
#include "ops/all.h"
#include "planner/cpu_rates.h"
#include "step/model_size.h"
#include "step/model_state.h"

namespace megalith {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct Flags {
  std::string model;
  bool llama = false, ops = false, bf16 = false, paper = false, counts = false;
  std::vector<std::string> passes_off;
  std::string facts;
  i64 layers = 12, hidden = 768, ffn = 0, heads = 12, kv = 0, vocab = 50257, seq = 0, batch = 1, steps = 5;
  OffloadConfig offload;
  QuantizeConfig quantize;
  DeviceOptions device;
};

void list_fields(Flags& c, config::FieldList& f) {
  f.add("model", c.model, "gpt2-124m, gpt2-350m, gpt2-1.5b, llama-1.5b or llama-8b-l8 (8 layers).");
  f.add("llama", c.llama, "RMSNorm, SwiGLU, rope, no biases, untied embeddings.");
  f.add("ops", c.ops, "Where the time goes.");
  f.add("passes-off", c.passes_off, "Names of passes to leave out.");
  f.add("facts", c.facts, "Also the plan and the step that these facts of a device foretell: a name or a file.");
  f.add("paper", c.paper, "Only that: nothing runs.");
  f.add("bf16", c.bf16, "Compute in bf16.");
  f.add("layers", c.layers, "Layers."), f.add("hidden", c.hidden, "Hidden size."),
      f.add("ffn", c.ffn, "MLP width; 0: the usual.");
  f.add("heads", c.heads, "Query heads."), f.add("kv", c.kv, "KV heads; 0: as many."),
      f.add("vocab", c.vocab, "Tokens.");
  f.add("seq", c.seq, "Sequence length; 0: the four default cases."), f.add("batch", c.batch, "Sequences.");
  f.add("steps", c.steps, "Measured steps.");
  f.add("fine-grained-activation-offloading", c.offload.on, "Activations go to the host's memory and back.");
  f.add("offload-modules", c.offload.modules, "Whose; left out: what the bus carries.");
  f.add("activation-offload-fraction", c.offload.fraction, "How much of them.");
  f.add("fp8-format", c.quantize.format, {"none", "hybrid", "e4m3", "e5m2"}, "Products of linear layers in fp8.");
  f.add("fp8-recipe", c.quantize.recipe, {"delayed", "tensorwise", "blockwise", "mxfp8", "custom"},
        "What has a scale.");
  f.add("fp8-counts", c.counts, "Casts count what they lose, as with a metrics file.");
  f.add("fp8-amax-history-len", c.quantize.amax_history_len, "delayed: steps whose largest values are remembered.");
  list_fields(c.device, f);
}

struct Preset {
  const char* name;
  bool llama;
  i64 layers, hidden, ffn, heads, kv, vocab, seq, batch;
};
constexpr Preset kPresets[] = {
    {"gpt2-124m", false, 12, 768, 0, 12, 0, 50257, 1024, 64},
    {"gpt2-350m", false, 24, 1024, 0, 16, 0, 50257, 1024, 32},
    {"gpt2-1.5b", false, 48, 1600, 0, 25, 0, 50257, 1024, 16},
    {"llama-1.5b", true, 16, 2048, 8192, 32, 8, 128256, 4096, 4},
    {"llama-8b-l8", true, 8, 4096, 14336, 32, 8, 128256, 8192, 2},
};

// A preset sets what the command line left open.
void apply_preset(Flags& f, const config::Given& given) {
  const auto it = std::ranges::find_if(kPresets, [&](const Preset& p) { return f.model == p.name; });
  check(it != std::end(kPresets), "--model {}: want gpt2-124m, gpt2-350m, gpt2-1.5b, llama-1.5b or llama-8b-l8",
        f.model);
  const auto set = [&](const char* flag, i64& member, i64 value) {
    if (!given.has(flag)) member = value;
  };
  set("layers", f.layers, it->layers), set("hidden", f.hidden, it->hidden), set("ffn", f.ffn, it->ffn);
  set("heads", f.heads, it->heads), set("kv", f.kv, it->kv), set("vocab", f.vocab, it->vocab);
  set("seq", f.seq, it->seq), set("batch", f.batch, it->batch), set("steps", f.steps, 20);
  f.llama = it->llama;
  if (!given.has("bf16")) f.bf16 = true;
}

ModelConfig model_of(const Flags& f, i64 seq) {
  ModelConfig m;
  m.num_layers = f.layers, m.hidden_size = f.hidden, m.ffn_hidden_size = f.ffn;
  m.num_attention_heads = f.heads, m.num_query_groups = f.kv;
  m.seq_length = seq, m.max_position_embeddings = std::max<i64>(seq, 1024), m.vocab_size = f.vocab;
  if (f.llama) {
    m.position_embedding_type = PositionEmbedding::rope, m.normalization = Normalization::rms_norm;
    m.activation = Activation::swiglu, m.add_bias_linear = false, m.untie_embeddings_and_output_weights = true;
  }
  m.resolve();
  return m;
}

StepSpec step_spec(const Flags& f, const ModelConfig& model, i64 batch, DType dtype) {
  StepSpec s;
  s.model = std::make_shared<Gpt>(model, ParallelStyle{.pack_qkv = true});
  s.optimizer.lr = 1e-4, s.optimizer.weight_decay = 0.1;
  s.mode.batch = batch, s.mode.precision = computing_in(dtype);
  s.passes_off = {f.passes_off.begin(), f.passes_off.end()};
  s.offload = f.offload;
  s.quantize.config = f.quantize, s.quantize.num_layers = model.num_layers;
  s.tells_counts = f.counts;
  return s;
}

class StepBench {
 public:
  StepBench(const Flags& flags, i64 batch, i64 seq, DType dtype, const Backend& backend)
      : model_(model_of(flags, seq)),
        spec_(step_spec(flags, model_, batch, dtype)),
        backend_(backend),
        step_(plan_step(spec_, backend)) {
    planned_ = step_.plan.arena_bytes + backend.fixed_bytes();
    const auto began = Clock::now();
    interpreter_ = backend.make_interpreter(step_.plan, Coord{});
    ModelState(step_, *interpreter_).initialise(1);
    fill();
    step(), wait();
    first_step_ = seconds_since(began);
  }

  struct Times {
    double best, median, row, idle;  // seconds per step; fraction of time that the device was idle
  };
  Times run(i64 steps) {
    std::vector<double> times;
    step(), wait();
    for (i64 i = 0; i < steps; ++i) {
      const auto start = Clock::now();
      step(), wait();
      times.push_back(seconds_since(start));
    }
    std::sort(times.begin(), times.end());
    const double row = in_a_row(steps);
    interpreter_->busy_seconds();
    const double wall = in_a_row(std::max<i64>(steps, 20)) * double(std::max<i64>(steps, 20));
    return {times.front(), times[times.size() / 2], row, 1 - interpreter_->busy_seconds() / wall};
  }

  i64 arena() const { return step_.plan.arena_bytes; }

  double flops() const { return size_of(*spec_.model).flops() * double(spec_.mode.batch); }
  i64 planned() const { return planned_; }
  i64 activations() const { return step_.plan.program(kProgram).activation_bytes; }
  i64 unoffloaded() const { return step_.unoffloaded_bytes; }  // 0: no offload to host memory
  i64 on_host() const { return step_.plan.host_bytes; }
  double first_step() const { return first_step_; }
  double loss() { return interpreter_->scalars(program_index(), "step")[step_scalar::kLoss]; }

  void print_ops() {
    constexpr int kRuns = 3;
    const Program& p = step_.plan.program(kProgram);
    std::vector<double> least = interpreter_->time_instructions(program_index());
    for (int run = 1; run < kRuns; ++run) {
      const std::vector<double> again = interpreter_->time_instructions(program_index());
      for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], again[i]);
    }
    struct Row {
      double seconds = 0;
      i64 runs = 0;
    };
    std::map<std::string, Row> spent;
    double sum = 0;
    for (size_t i = 0; i < least.size(); ++i) {
      Row& row = spent[kind(p, p.instructions[i])];
      row.seconds += least[i], ++row.runs, sum += least[i];
    }
    std::vector<std::pair<std::string, Row>> rows(spent.begin(), spent.end());
    std::ranges::sort(rows, [](auto& a, auto& b) { return a.second.seconds > b.second.seconds; });
    for (auto& [op, row] : rows)
      fmt::print("    {:<60} {:>5} runs {:>10.3f} ms {:>6.2f} %\n", op, row.runs, row.seconds * 1e3,
                 100 * row.seconds / sum);
    fmt::print("    {:<60} {:>5} runs {:>10.3f} ms\n", "all, one by one", least.size(), sum * 1e3);
    const bool gpu = backend_.name() == "cuda";
    fmt::print("{}", sim::print(sim::simulate(step_.plan, p, gpu ? sim::h200() : cpu_rates(backend_))));
  }

 private:
  // Groups ops by kind: products by their letters and sizes, others by dtype.
  std::string kind(const Program& p, const Instruction& in) const {
    const Type& first = p.buffers[(in.outs.empty() ? in.ins : in.outs)[0]].type;
    if (const auto* e = in.op.get_if<Einsum>())
      return fmt::format("einsum {}{} -> {}", e->spec, e->accumulate ? " +=" : "", to_string(first.shape));
    if (const auto* q = in.op.get_if<QuantizedProduct>())
      return fmt::format("codes {} {} {}{} -> {}", name_of(q->x_format), name_of(q->w_format), q->spec,
                         q->accumulate ? " +=" : "", to_string(first.shape));
    if (const auto* q = in.op.get_if<Quantize>())
      return fmt::format("quantize {} {} -> {}", name_of(q->orders), to_string(p.buffers[in.ins[0]].type.shape),
                         name_of(first.dtype));
    if (const auto* c = in.op.get_if<CodedResult>())
      return fmt::format("{} as codes {}", c->op ? c->op->name() : "values", to_string(c->values.shape));
    return fmt::format("{} {} -> {}", in.op.name(), in.phase == Phase::update ? "(update)" : "", name_of(first.dtype));
  }

  int program_index() const { return int(&step_.plan.program(kProgram) - step_.plan.programs.data()); }

  void fill() {
    const i64 n = model_.seq_length * spec_.mode.batch;
    for (i64 i = 0; i < n; ++i) {
      tokens_.push_back(i32(mix_all(3, i) % u64(model_.vocab_size)));
      labels_.push_back(i32(mix_all(4, i) % u64(model_.vocab_size)));
      positions_.push_back(i32(i / spec_.mode.batch));
    }
    mask_.assign(size_t(n), 1);
  }

  // As the trainer does: writes the step's scalars and a batch, then runs; nothing waits.
  void step() {
    const double step_scalars_in[] = {1e-4, 0.1, 0.1, 0.05};  // learning rate, weight decay, AdamW's corrections
    put("step_scalars_in", step_scalars_in), put("tokens", tokens_.data()), put("labels", labels_.data());
    put("loss_mask", mask_.data()), put("position_ids", positions_.data());
    interpreter_->run(program_index(), true);
  }
  void put(const char* leaf, const void* data) {
    if (const Leaf* l = step_.plan.find_leaf(leaf)) interpreter_->write(*l, data);
  }
  void wait() { loss(); }

  double in_a_row(i64 steps) {
    wait();
    const auto start = Clock::now();
    for (i64 i = 0; i < steps; ++i) step();
    wait();
    return seconds_since(start) / double(steps);
  }

  static constexpr const char* kProgram = "last-micro-batch";

  const ModelConfig model_;
  StepSpec spec_;
  const Backend& backend_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  std::vector<i32> tokens_, labels_, positions_;
  std::vector<float> mask_;
  i64 planned_ = 0;
  double first_step_ = 0;
};

// The same step on a simulated device with such facts. here: bytes and seconds of the real one; 0: there is none.
void foretell(const Flags& f, i64 batch, i64 seq, DType dtype, i64 arena_here, double seconds_here) {
  const auto paper = sim::make_paper_backend(find_facts(f.facts));
  const PlannedStep step = plan_step(step_spec(f, model_of(f, seq), batch, dtype), *paper);
  const double seconds =
      sim::simulate(step.plan, step.plan.program("last-micro-batch"), sim::FactsClock(paper->facts())).total.seconds;
  const double bytes = double(step.plan.arena_bytes);
  fmt::print("  by the facts of {}: arena {} bytes, {:.3f} ms a step", paper->facts().name, step.plan.arena_bytes,
             seconds * 1e3);
  if (seconds_here > 0)
    fmt::print("; here {} bytes (ratio {:.6f}), {:.3f} ms in a row (ratio {:.4f})", arena_here,
               bytes / double(arena_here), seconds_here * 1e3, seconds / seconds_here);
  fmt::print("\n");
  for (const std::string& line : paper->bounded()) fmt::print("    bounded: {}\n", line);
}

void measure(const Flags& f, i64 batch, i64 seq, DType dtype, const Backend& backend) {
  const auto began = Clock::now();
  StepBench bench(f, batch, seq, dtype, backend);
  const double start = seconds_since(began);
  const StepBench::Times t = bench.run(f.steps);
  const double tokens = double(batch * seq), flops = bench.flops(), mib = 1 << 20;
  const std::string name = !f.model.empty() ? f.model : f.seq ? "model" : "GPT-2 124M";
  fmt::print("{:<12} {} x {:<5} {:<5} {:>9.1f} tokens/s best, {:>9.1f} median, {:>9.1f} in a row\n", name, batch, seq,
             name_of(dtype), tokens / t.best, tokens / t.median, tokens / t.row);
  fmt::print("  {:.2f} ms a step best, {:.2f} median, {:.2f} in a row; {:.1f} TFLOP/s", t.best * 1e3, t.median * 1e3,
             t.row * 1e3, flops / t.row / 1e12);
  if (const auto peak = peak_flops(backend.device_name(), dtype))
    fmt::print(", MFU {:.1f} % of {:.0f} TFLOP/s", 100 * flops / t.row / *peak, *peak / 1e12);
  fmt::print("; device idle {:.2f} %\n", 100 * t.idle);
  const double planned = double(bench.planned()), used = double(backend.peak_bytes());
  fmt::print(
      "  memory: planned {:.1f} MiB, used {:.1f} MiB ({:.2f} %); {:.2f} s to the first step's end ({:.2f} s of "
      "them planning); loss {:.12f}\n",
      planned / mib, used / mib, 100 * used / planned, start, start - bench.first_step(), bench.loss());
  if (!f.facts.empty()) foretell(f, batch, seq, dtype, bench.arena(), t.row);
  fmt::print("  activations: {:.1f} MiB", double(bench.activations()) / mib);
  if (bench.unoffloaded() > 0)
    fmt::print(", {:.1f} MiB if none went to the host's memory, where {:.1f} MiB are",
               double(bench.unoffloaded()) / mib, double(bench.on_host()) / mib);
  fmt::print("\n");
  if (f.ops) bench.print_ops();
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Flags f;
  config::FieldList fields = config::fields_of(f);
  const config::ParseResult r = config::parse(fields, std::vector<std::string>(argv + 1, argv + argc));
  if (r.help) return fmt::print("{}\n", config::help_text(fields)), 0;
  if (!f.model.empty()) apply_preset(f, r.given);
  check(f.steps > 0, "--steps {}: want at least 1", f.steps);
  const bool defaults = f.seq == 0;
  if (defaults && f.device.kind() == DeviceKind::automatic) f.device.device = "cpu";
  if (f.paper && !defaults) return foretell(f, f.batch, f.seq, f.bf16 ? DType::bf16 : DType::f32, 0, 0), 0;
  const std::unique_ptr<Backend> backend = make_backend(f.device);
  if (!defaults) return measure(f, f.batch, f.seq, f.bf16 ? DType::bf16 : DType::f32, *backend), 0;
  for (const auto& [batch, seq] : {std::pair<i64, i64>{4, 64}, {1, 1024}})
    for (DType dtype : {DType::f32, DType::bf16}) measure(f, batch, seq, dtype, *backend);
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
