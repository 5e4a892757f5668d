#include "tests/parallel/watched.h"

#include <xxhash.h>

#include <algorithm>

#include "base/check.h"
#include "base/split_float.h"
#include "graph/relayout_op.h"
#include "optim/update.h"
#include "tests/harness/wrapped_backend.h"
#include "tests/harness/wrapped_interpreter.h"

namespace megalith::parity {
namespace {

std::string kind_of(const Plan& plan, const Instruction& in) {
  const auto* op = in.op.get_if<Relayout>();
  if (!op || plan.mesh.n(op->axes) == 1) return {};
  const bool is_left_out_in_vain = op->transfer == Transfer::none || op->transfer == Transfer::slice;
  if (is_left_out_in_vain || op->transfer == Transfer::pad) return {};
  std::string tag;
  for (const char c : to_string(in.origin))
    if (c < '0' || c > '9') tag += c;
  return fmt::format("{} over {}, {}, {}", name_of(op->transfer), to_string(op->axes, plan.mesh.used()),
                     name_of(in.phase), tag);
}

bool trains(const Program& p) {
  return !p.name.starts_with("evaluate") && !p.name.starts_with("take") && !p.name.starts_with("spread");
}

// Replaces a transfer by its local part: each rank keeps its own term, or its own block padded with zeros.
Transfer without_others(Transfer t) {
  switch (t) {
    case Transfer::reduce_scatter:
      return Transfer::slice;
    case Transfer::all_gather:
    case Transfer::all_to_all:
      return Transfer::pad;
    default:
      return Transfer::none;
  }
}

int leave_out(Plan& plan, const std::string& kind) {
  int changed = 0;
  for (Program& p : plan.programs) {
    if (!trains(p)) continue;
    const auto it = std::find_if(p.instructions.begin(), p.instructions.end(),
                                 [&](const Instruction& in) { return kind_of(plan, in) == kind; });
    if (it == p.instructions.end()) continue;
    Relayout op = *it->op.get_if<Relayout>();
    op.transfer = without_others(op.transfer);
    it->op = op, ++changed;
  }
  return changed;
}

class WatchedInterpreter final : public test::WrappedInterpreter {
 public:
  WatchedInterpreter(const Plan& plan, const Coord& coord, const Backend& real, Watch& watch)
      : plan_(plan), watch_(watch) {
    if (!watch.fault.empty()) watch.left_out = leave_out(plan_, watch.fault);
    real_ = real.make_interpreter(plan_, coord);
  }
  ~WatchedInterpreter() override {
    u64 state = 0;
    for (const Leaf& leaf : plan_.leaves) {
      const bool stays =
          leaf.role == Role::parameter || leaf.role == Role::main_parameter || leaf.role == Role::optimizer;
      if (!stays || leaf.bucket >= 0) continue;  // plans order the leaves of buckets differently
      // A rank's f32 part of a bucket's weights. It exists only if the main weights are on the host, which then hold
      // the same values.
      if (leaf.name.ends_with(".shard") && leaf.type.dtype == DType::f32) continue;
      const u64 name = XXH3_64bits(leaf.name.data(), leaf.name.size());
      const std::vector<float> joined = main_weights(leaf);
      state += joined.empty() ? XXH3_64bits_withSeed(real_->host_view(leaf), size_t(leaf.bytes), name)
                              : XXH3_64bits_withSeed(joined.data(), joined.size() * sizeof(float), name);
    }
    watch_.state = state;
  }

 private:
  // Joins bf16 weights with their low 16 bits to f32 weights. Main weights on the host are f32 already.
  std::vector<float> main_weights(const Leaf& leaf) {
    if (leaf.type.dtype != DType::u16) return {};
    const std::string weights = leaf.name.substr(0, leaf.name.size() - main_name("").size());
    const Leaf* shard = plan_.find_leaf(weights + ".shard");
    const Leaf& bf16_half = shard ? *shard : plan_.leaf(weights);
    std::vector<float> out(size_t(leaf.bytes) / sizeof(u16));
    join_floats(real_->host_view(bf16_half), real_->host_view(leaf), out);
    return out;
  }

  Plan plan_;
  Watch& watch_;
};

class WatchedBackend final : public test::WrappedBackend {
 public:
  WatchedBackend(std::unique_ptr<Backend> real, Watch& watch) : WrappedBackend(std::move(real)), watch_(watch) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return std::make_unique<WatchedInterpreter>(plan, coord, *real_, watch_);
  }

 private:
  Watch& watch_;
};

}  // namespace

std::unique_ptr<Backend> watched(std::unique_ptr<Backend> real, Watch& watch) {
  return std::make_unique<WatchedBackend>(std::move(real), watch);
}

std::vector<std::string> kinds_of_relayouts(const Plan& plan) {
  std::vector<std::string> kinds;
  for (const Program& p : plan.programs)
    for (const Instruction& in : p.instructions) {
      const std::string kind = trains(p) ? kind_of(plan, in) : "";
      if (!kind.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
  return kinds;
}

}  // namespace megalith::parity
