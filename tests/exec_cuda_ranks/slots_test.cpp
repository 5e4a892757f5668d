// Leaves with several copies, and what goes from one stage's GPU to another's.
#include "ops/scale.h"
#include "tests/exec_cuda_ranks/gpus.h"
#include "tests/harness/tensor.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

constexpr i64 kSlots = 3, kSlotSize = 1000;

// y = 2 x, and z that nothing reads; x and z with kSlots copies.
Plan plan_of(const Backend& backend, Graph& g) {
  g.mesh = make_mesh({});
  Builder b(g);
  const Type type{DType::f32, {kSlotSize}, whole(1)};
  const Value x = b.leaf({"x", type});
  b.leaf({"z", type});
  g.outputs["y"] = b.add1(Scale{1, 2}, {x});
  return plan_memory(g.mesh, {{.name = "graph", .graph = &g, .phases = {Phase::forward}, .slots = kSlots}},
                     [&](const Graph& g, const Node& n) { return backend.workspace_bytes(g, n); });
}

std::vector<float> numbers(float first) {
  std::vector<float> out;
  for (i64 i = 0; i < kSlotSize; ++i) out.push_back(first + float(i));
  return out;
}

std::vector<float> result(Interpreter& it) {
  std::vector<float> y(kSlotSize);
  it.read_output(0, "y", y.data());
  return y;
}

std::vector<float> doubled(std::vector<float> x) {
  for (float& v : x) v *= 2;
  return x;
}

class CudaLinks : public OnGpus<1> {};
class CudaLinksOnTwo : public OnGpus<2> {};
class CudaSlots : public OnGpus<1> {};

}  // namespace

TEST_F(CudaSlots, a_run_works_on_the_copy_that_it_is_told) {
  const auto backend = make_cuda_backend({});
  Graph g;
  const Plan plan = plan_of(*backend, g);
  const auto it = backend->make_interpreter(plan, Coord{});
  const Leaf& x = plan.leaf("x");
  for (int s = 0; s < kSlots; ++s) it->write(x, numbers(float(1000 * s)).data(), s);
  for (const bool graphs : {true, false}) {
    it->profile(!graphs);
    for (const int s : {2, 0, 1, 1, 2}) {
      it->run(0, s == 0, s);
      EXPECT_EQ(result(*it), doubled(numbers(float(1000 * s)))) << "slot " << s;
    }
  }
  it->profile(false);
}

// Both ways at once on several channels, more than one on its way; what is received is read by a program.
TEST_F(CudaLinksOnTwo, what_is_sent_is_received_in_order) {
  harness::run_ranks(2, [](Ranks& ranks) {
    const auto backend = make_cuda_backend({.ranks = &ranks});
    Graph g;
    const Plan plan = plan_of(*backend, g);
    const std::vector<Link> links = {{0, 1, 0}, {1, 0, 0}, {0, 1, 5}, {1, 0, 5}};
    backend->connect(plan, Coord{}, links);
    const auto it = backend->make_interpreter(plan, Coord{});
    const Leaf &x = plan.leaf("x"), &z = plan.leaf("z");
    const int me = ranks.rank(), other = 1 - me;
    for (int round = 0; round < 3; ++round) {
      const auto sent = [&](int rank, int k) { return numbers(float(10000 * rank + 100 * round + k)); };
      std::vector<int> tickets;
      for (const int channel : {0, 5}) {
        it->write(z, sent(me, channel).data());
        const int sending = it->send(z, 0, other, channel);
        tickets.push_back(it->receive(x, channel ? 1 : 2, other, channel));
        it->join(sending);  // z is written anew
      }
      for (const int t : tickets) it->join(t);
      for (const int channel : {0, 5}) {
        it->run(0, true, channel ? 1 : 2);
        EXPECT_EQ(result(*it), doubled(sent(other, channel))) << "rank " << me << " channel " << channel;
      }
    }
    EXPECT_THROW(it->send(z, 0, other, 7), Error);
    ranks.barrier();
  });
}

TEST_F(CudaLinks, more_ranks_than_gpus_are_an_error) {
  const int n = cuda_device_count() + 1;
  harness::run_ranks(n, [&](Ranks& ranks) {
    if (ranks.rank() < n - 1) return;
    EXPECT_THROW(make_cuda_backend({.ranks = &ranks}), Error);
  });
}

}  // namespace megalith
