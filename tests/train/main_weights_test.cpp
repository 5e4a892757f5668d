// Tests how the model state reads and writes weights of a bf16 model. All f32 bits must be preserved, in any storage.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "base/split_float.h"
#include "exec/cpu/backend.h"
#include "resume/state_save.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_interpreter.h"

namespace megalith {
namespace {

using Pieces = std::map<std::string, std::vector<u32>>;  // bits by tensor and offset

// The host has no view of any leaf, as on a GPU.
struct Hidden final : test::WrappedInterpreter {
  explicit Hidden(std::unique_ptr<Interpreter> real) { real_ = std::move(real); }
  std::byte* host_view(const Leaf&) override { return nullptr; }
};

// Calls f with the model's state on each of `ranks`. The largest matrix has more elements than one call joins.
template <class F>
void on_ranks(int ranks, const std::string& more, bool hidden, F&& f) {
  harness::run_ranks(ranks, [&](Ranks& here) {
    Options o = options_for(ranks, "--hidden-size 528 --global-batch-size 4 " + more);
    const auto backend = make_cpu_backend(&here);
    const PlannedStep step = plan_step(step_spec(o), *backend);
    const Coord coord = step.plan.mesh.coord(here.rank());
    std::unique_ptr<Interpreter> interpreter = backend->make_interpreter(step.plan, coord);
    if (hidden) interpreter = std::make_unique<Hidden>(std::move(interpreter));
    ModelState model(step, *interpreter, coord);
    f(here, model, o);
  });
}

std::vector<float> values_of(const ModelState& model, const StatePiece& piece) {
  std::vector<float> out(size_t(count(piece.shape)));
  model.read(piece, 0, out);
  return out;
}

std::vector<u32> bits_of(std::span<const float> values) {
  std::vector<u32> out;
  for (const float x : values) out.push_back(std::bit_cast<u32>(x));
  return out;
}

Pieces pieces_of(const ModelState& model) {
  Pieces out;
  for (const StateTensor& t : model.tensors())
    for (const StatePiece& p : t.is_weight ? model.pieces(t) : std::vector<StatePiece>())
      out[fmt::format("{} {}", t.name, fmt::join(p.offset, ","))] = bits_of(values_of(model, p));
  return out;
}

struct WeightCase {
  int ranks;
  const char* flags;
};
const WeightCase kWeightCases[] = {{1, ""},
                                   {2, "--use-distributed-optimizer"},
                                   {2, "--tensor-model-parallel-size 2"},
                                   {2, "--use-distributed-optimizer --optimizer-cpu-offload"},
                                   {1, "--optimizer-cpu-offload --optimizer-offload-fraction 0.5"}};

}  // namespace

TEST(MainWeights, BeginAsInF32) {
  for (const auto& [ranks, flags] : kWeightCases) {
    std::vector<Pieces> wide(static_cast<size_t>(ranks)), narrow(wide.size());
    for (const bool bf16 : {false, true})
      on_ranks(ranks, flags + std::string(bf16 ? " --bf16" : ""), false,
               [&](Ranks& here, ModelState& model, const Options&) {
                 model.initialise(7);
                 (bf16 ? narrow : wide)[size_t(here.rank())] = pieces_of(model);
               });
    EXPECT_EQ(wide, narrow) << flags;
    EXPECT_GT(wide[0].size(), 10u);
  }
}

// All bits are restored, in whole and in parts, also from the blocks of a synchronous and an async save. The model
// computes with the nearest bf16 value.
TEST(MainWeights, ComeBackToTheBit) {
  for (const bool hidden : {false, true})
    for (const auto& [ranks, flags] : kWeightCases)
      on_ranks(ranks, flags + std::string(" --bf16"), hidden, [&](Ranks&, ModelState& model, const Options& o) {
        std::mt19937 random(5);
        i64 largest = 0, beside = 0;
        for (const StateTensor& t : model.tensors()) {
          if (!t.is_weight) continue;
          for (const StatePiece& p : model.pieces(t)) {
            std::vector<float> values(size_t(count(p.shape)));
            for (float& x : values)
              x = std::bit_cast<float>(u32(random() & 0xbfff8000u) | (random() % 2 ? 0 : u32(random() % 0x8000)));
            model.write(p, 0, values);
            ASSERT_EQ(bits_of(values_of(model, p)), bits_of(values)) << t.name;
            std::vector<float> part(values.size() / 3);
            model.read(p, i64(values.size() / 2), part);
            ASSERT_EQ(bits_of(part), bits_of(std::span(values).subspan(values.size() / 2, part.size()))) << t.name;
            largest = std::max(largest, count(p.shape));
            if (!p.beside) continue;
            ++beside;
            std::vector<bf16> bf16_half(values.size());
            if (p.beside->type.dtype == DType::bf16)
              model.interpreter().read_part(*p.beside, p.begin * 2, std::as_writable_bytes(std::span(bf16_half)));
            for (size_t i = 0; i < values.size(); ++i)
              ASSERT_EQ(bf16_half[i].bits, bf16_half_of(values[i]).bits) << t.name << i;
          }
        }
        EXPECT_GT(largest, ranks == 1 ? ModelState::kJoinedAtOnce : 0);
        EXPECT_GT(beside, 0);
        for (const bool copied : {false, true}) {
          const StateBlocks blocks(model, largest_share(o.train), copied);
          blocks.wait();
          size_t next = 0;
          for (const StateTensor& t : model.tensors())
            for (const StatePiece& p : model.saved_pieces(t, true)) {
              const SaveTensor& saved = blocks.tensors()[next++];
              std::vector<float> got(size_t(count(p.shape)));
              if (saved.data)
                std::memcpy(got.data(), saved.data, got.size() * sizeof(float));
              else
                saved.fill(0, i64(got.size()), reinterpret_cast<std::byte*>(got.data()));
              ASSERT_EQ(bits_of(got), bits_of(values_of(model, p))) << t.name;
            }
          EXPECT_EQ(next, blocks.tensors().size());
        }
      });
}

}  // namespace megalith
