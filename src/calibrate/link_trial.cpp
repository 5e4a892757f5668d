#include "calibrate/link_trial.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/log.h"
#include "calibrate/timed_step.h"
#include "calibrate/trial_program.h"

namespace megalith {

namespace {

constexpr i64 kKiB = 1024, kMiB = 1024 * kKiB;
// Ratios of the work: kernels that take longer than the transfer, and a transfer that takes longer than kernels.
constexpr double kLongKernels = 4, kLongTransfer = 2;
constexpr int kRounds = 4;

// Bus bandwidth in GB/s of a message of `bytes`.
double busbw(Transfer t, double bytes, int n, double seconds) { return wire_bytes(t, bytes, n) / seconds / 1e9; }

int times_of(i64 bytes) { return bytes >= 64 * kMiB ? 4 : 16; }

// Ranks start a program at different times, and the first transfer waits for the last rank. So each transfer is timed
// by the difference between a short and a longer program. Noise may make it too small. So it is at least half the
// average.
constexpr int kLonger = 4;
double each_of(double brief, double longer, int times) {
  const double average = longer / (kLonger * times);
  return std::max({(longer - brief) / ((kLonger - 1) * times), average / 2, 1e-9});
}

TransferFact time_kind(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes, Transfer t, int group,
                       int lane) {
  const Mesh mesh = mesh_of_groups(ranks.size(), group);
  std::vector<Graph> graphs;
  for (const i64 bytes : sizes.bytes)
    for (const int longer : {1, kLonger})
      graphs.push_back(trial_graph(mesh, {t, bytes, lane, longer * times_of(bytes)}, Kernel::memory, 0, sizes));
  const std::vector<double> seconds = Trial(backend, ranks, mesh, graphs).seconds(sizes.looks, 2);
  TransferFact f{std::string(name_of(t)), group, lane > 0, {}};
  for (size_t i = 0; i < sizes.bytes.size(); ++i) {
    const double each = each_of(seconds[2 * i], seconds[2 * i + 1], times_of(sizes.bytes[i]));
    f.busbw.push_back({double(sizes.bytes[i]), busbw(t, double(sizes.bytes[i]), group, each)});
  }
  return f;
}

// Pipeline messages from each even rank to the next rank.
TransferFact time_sends(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes) {
  Graph g;
  g.mesh = make_mesh({.dp = ranks.size()});
  Builder b(g);
  for (const i64 bytes : sizes.bytes) b.leaf({fmt::format("{}", bytes), {DType::bf16, {bytes / 2}, whole(1)}});
  const Plan plan = plan_memory(g.mesh, {{"sends", &g, {Phase::forward}}}, [](auto&, auto&) { return i64{0}; });
  const int me = ranks.rank(), other = me ^ 1;
  const bool takes_part = other < ranks.size();
  std::vector<Link> links;
  if (takes_part) links.push_back({std::min(me, other), std::max(me, other), 0});
  const Coord coord = g.mesh.coord(me);
  backend.connect(plan, coord, links);
  const auto interpreter = backend.make_interpreter(plan, coord);
  TransferFact f{"send", 2, true, {}};
  const bool gpu = backend.host_bytes().has_value();
  for (const i64 bytes : sizes.bytes) {
    const Leaf& leaf = plan.leaf(fmt::format("{}", bytes));
    std::vector<double> seen;
    std::vector<std::byte> last(2);
    for (int look = -1; look < sizes.looks; ++look) {
      ranks.barrier();
      const auto began = std::chrono::steady_clock::now();
      for (int i = 0; takes_part && i < times_of(bytes); ++i)
        interpreter->join(me < other ? interpreter->send(leaf, 0, other, 0) : interpreter->receive(leaf, 0, other, 0));
      interpreter->read_part(leaf, 0, last);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      if (look >= 0) seen.push_back(takes_part ? took.count() / times_of(bytes) : 0);
    }
    f.busbw.push_back({double(bytes), double(bytes) / std::max(largest_of(ranks, typical(seen, gpu)), 1e-9) / 1e9});
  }
  return f;
}

void say(const TransferFact& f) {
  std::string rates;
  for (const auto& [bytes, gbps] : f.busbw) rates += fmt::format(" {:.3g} MB {:.4g},", bytes / 1e6, gbps);
  rates.pop_back();
  log::say("{} of {} ranks{}, GB/s:{}", f.kind, f.ranks, f.lane ? " on a lane" : "", rates);
}

}  // namespace

LinkTrialSizes link_trial_sizes(bool gpu) {
  if (!gpu)
    return {.bytes = {64 * kKiB, kMiB, 4 * kMiB},
            .beside = kMiB,
            .product = 128,
            .sequence = 128,
            .elements = kMiB / 2,
            .looks = 5};
  return {.bytes = {64 * kKiB, 512 * kKiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB, 512 * kMiB},
          .beside = 256 * kMiB,
          .product = 8192,  // its tiles fill many rounds of all multiprocessors, as those of large models do
          .sequence = 4096,
          .elements = 128 * kMiB};
}

double largest_of(Ranks& ranks, double mine) {
  double most = mine;
  for (const std::string& text : ranks.all_gather(fmt::format("{:.17g}", mine))) most = std::max(most, std::stod(text));
  return most;
}

std::vector<TransferFact> time_transfers(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes) {
  std::vector<TransferFact> out;
  std::vector<int> group_sizes{2};
  if (ranks.size() > 2) group_sizes.push_back(ranks.size());
  if (ranks.size() % 2) group_sizes = {ranks.size()};
  for (const Transfer t : {Transfer::all_gather, Transfer::reduce_scatter, Transfer::all_reduce, Transfer::all_to_all})
    for (const int group : group_sizes)
      for (const int lane : {0, 1}) out.push_back(time_kind(backend, ranks, sizes, t, group, lane)), say(out.back());
  out.push_back(time_sends(backend, ranks, sizes)), say(out.back());
  return out;
}

// s.kernels and s.transfer are slowdown factors. A transfer takes moved = s.transfer * t.moved. Meanwhile kernels do
// the work of moved / s.kernels seconds. So kernels that outlast it take moved - moved / s.kernels longer. The same
// holds with the roles exchanged. The loop solves both equations.
Slowdowns slowdowns(const BesideTimes& t) {
  constexpr double kMost = 4;
  Slowdowns s;
  for (int i = 0; i < 50; ++i) {
    const double moved = s.transfer * t.moved, worked = s.kernels * t.kernels;
    const double more = std::max(0.0, t.at_once - t.longer_kernels);
    const double later = std::max(0.0, t.longer_moved_at_once - t.moved);
    s.kernels = std::min(kMost, 1 / std::max(1 / kMost, 1 - more / moved));
    s.transfer = std::min(kMost, 1 / std::max(1 / kMost, 1 - later / worked));
  }
  return s;
}

// The times of kernels and of transfers, without overlap, give the number of repetitions of each.
static Slowdowns time_pair(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes, Kernel kernel,
                           Transfer t) {
  const Mesh mesh = mesh_of_groups(ranks.size(), ranks.size());
  const auto graph = [&](int transfers, int kernels) {
    return trial_graph(mesh, {transfers ? t : Transfer::none, sizes.beside, 1, transfers}, kernel, kernels, sizes,
                       kRounds);
  };
  const std::vector<double> one = Trial(backend, ranks, mesh, {graph(1, 0), graph(0, 8)}).seconds(sizes.looks, 2);
  const double moved = one[0] / kRounds, worked = one[1] / (8 * kRounds);
  const int few = std::clamp(int(moved / (kLongTransfer * worked)), 1, 64);
  const int transfers = std::clamp(int(std::ceil(kLongTransfer * few * worked / moved)), 1, 16);
  const int many = std::clamp(int(std::ceil(kLongKernels * transfers * moved / worked)), few + 1, 512);
  Trial trial(backend, ranks, mesh,
              {graph(0, few), graph(transfers, 0), graph(0, many), graph(transfers, many), graph(transfers, few)});
  const std::vector<double> s = trial.seconds(3 * sizes.looks, sizes.looks);
  const Slowdowns out = slowdowns({s[0], s[1], s[2], s[3], s[4]});
  log::say("{} of {:.2f} ms beside {} of {:.2f} ms: {:.3f} times as long, the transfer {:.3f}",
           std::array{"products", "attention", "sums"}[size_t(kernel)], worked * 1e3, name_of(t), moved * 1e3,
           out.kernels, out.transfer);
  return out;
}

BesideFacts time_beside(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes) {
  BesideFacts f;
  double transfer = 1;
  for (const auto& [kernel, to] : {std::pair{Kernel::product, &f.product}, std::pair{Kernel::attention, &f.attention},
                                   std::pair{Kernel::memory, &f.memory}}) {
    const Slowdowns gather = time_pair(backend, ranks, sizes, kernel, Transfer::all_gather);
    const Slowdowns reduce = time_pair(backend, ranks, sizes, kernel, Transfer::reduce_scatter);
    *to = std::sqrt(gather.kernels * reduce.kernels);
    if (kernel == Kernel::product) transfer = std::sqrt(gather.transfer * reduce.transfer);
  }
  f.transfer = transfer;
  return f;
}

}  // namespace megalith
