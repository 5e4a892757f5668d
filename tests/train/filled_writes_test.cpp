// Tests of a device whose write buffers callers fill directly. The state from snapshots must have the same bits, and it
// is copied only once.
#include "plan/filled_writes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <map>
#include <random>

#include "exec/cpu/backend.h"
#include "resume/snapshot_slot.h"
#include "resume/snapshot_tensors.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "state/read_state.h"
#include "state/state_blocks.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_interpreter.h"

namespace megalith {
namespace {

using Bits = std::map<std::string, std::vector<u32>>;  // by box of the state

class Filling final : public test::WrappedInterpreter, public FilledWrites {
 public:
  explicit Filling(std::unique_ptr<Interpreter> real) : WrappedInterpreter(std::move(real)) {}
  std::byte* host_view(const Leaf&) override { return nullptr; }  // the host has no view, as on a GPU
  void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) override {
    ++copied;
    real_->write_part(leaf, begin, data);
  }
  void fill_part(const Leaf& leaf, i64 begin, i64 bytes, const Put& put) override {
    ++filled;
    EXPECT_LE(bytes, kMost);
    std::vector<std::byte> room(static_cast<size_t>(bytes));
    put(room.data());
    real_->write_part(leaf, begin, room);
  }
  std::atomic<int> copied = 0, filled = 0;
};

template <class F>
void on_ranks(int ranks, const std::string& more, F&& f) {
  harness::run_ranks(ranks, [&](Ranks& here) {
    const Options o = options_for(ranks, "--hidden-size 528 --global-batch-size 4 " + more);
    const auto backend = make_cpu_backend(&here);
    const PlannedStep step = plan_step(step_spec(o), *backend);
    const Coord coord = step.plan.mesh.coord(here.rank());
    Filling interpreter(backend->make_interpreter(step.plan, coord));
    ModelState model(step, interpreter, coord);
    f(here.rank(), model, interpreter);
  });
}

std::string key_of(const StateTensor& t, const StatePiece& p) {
  return fmt::format("{} {}", t.name, fmt::join(p.offset, ","));
}

// Writes random numbers to all of the state. Ranks with the same box get the same numbers.
void write_random(ModelState& model) {
  for (const StateTensor& t : model.tensors())
    for (const StatePiece& p : model.pieces(t)) {
      std::mt19937_64 random{std::hash<std::string>{}(key_of(t, p))};
      std::vector<float> values(size_t(count(p.shape)));
      for (float& x : values) x = std::bit_cast<float>(u32(random() & 0xbfffffffu));
      model.write(p, 0, std::span<const float>(values));
    }
}

Bits bits_of(const ModelState& model) {
  Bits out;
  for (const StateTensor& t : model.tensors())
    for (const StatePiece& p : model.pieces(t)) {
      std::vector<u32>& bits = out[key_of(t, p)];
      bits.resize(size_t(count(p.shape)));
      model.read(p, 0, std::as_writable_bytes(std::span(bits)));
    }
  return out;
}

struct FilledCase {
  int ranks;
  const char* flags;
};
const FilledCase kFilledCases[] = {{1, "--bf16"},
                                   {1, ""},
                                   {2, "--use-distributed-optimizer --bf16"},
                                   {2, "--tensor-model-parallel-size 2 --bf16"},
                                   {2, "--tensor-model-parallel-size 2"}};

}  // namespace

TEST(FilledWrites, StateComesFromSnapshotsToTheBit) {
  for (const auto& [ranks, flags] : kFilledCases) {
    SCOPED_TRACE(fmt::format("{} ranks {}", ranks, flags));
    std::vector<int> slots;
    for (int r = 0; r < ranks; ++r) slots.push_back(memfd_create("slot", MFD_CLOEXEC));
    std::vector<Bits> wanted(slots.size());
    on_ranks(ranks, flags, [&](int rank, ModelState& model, Filling&) {
      write_random(model);
      const StateBlocks blocks(model, {.with_optimizer = true, .shared = true}, false);
      blocks.wait();
      write_snapshot(slots[size_t(rank)], {.iteration = 5}, blocks.tensors(), 2);
      wanted[size_t(rank)] = bits_of(model);
    });
    on_ranks(ranks, flags, [&](int rank, ModelState& model, Filling& device) {
      std::vector<Snapshot> all;
      for (const int fd : slots) all.push_back(*read_snapshot(fd));
      read_state(*read_snapshots(all), true, model, 3);
      EXPECT_TRUE(bits_of(model) == wanted[size_t(rank)]);
      EXPECT_GT(device.filled, 10);
      EXPECT_EQ(device.copied, 0);
      if (ranks == 1) return;
      all.erase(all.begin() + rank);
      EXPECT_THROW(read_state(*read_snapshots(all), true, model, 3), Error);
    });
    for (const int fd : slots) close(fd);
  }
}

}  // namespace megalith
