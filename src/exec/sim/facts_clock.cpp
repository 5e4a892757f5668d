#include "exec/sim/facts_clock.h"

#include <algorithm>
#include <cmath>

#include "exec/sim/coded_form.h"
#include "exec/sim/overlapped_time.h"
#include "exec/sim/symmetric_ranks.h"
#include "ops/host_copy.h"
#include "ops/state_window.h"

namespace megalith::sim {

namespace {

constexpr size_t kNeighbours = 4;
// The shortest recorded kernel is all launch and latency. If a kernel is at most this many times as long, its rate says
// nothing about a larger one.
constexpr double kShort = 2;

// Of the data sheet, where nothing was measured.
constexpr double kShareOfPeak = 2.0 / 3;

double square(double x) { return x * x; }

// The distance between sizes, as factors.
double distance(const std::vector<i64>& a, const std::vector<i64>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += square(std::log(double(std::max<i64>(a[i], 1)) / double(std::max<i64>(b[i], 1))));
  return sum;
}

// The value of a curve over the logarithm of its first numbers.
double at(const BandwidthCurve& curve, double x, double otherwise) {
  if (curve.empty()) return otherwise;
  if (x <= curve.front().first) return curve.front().second;
  for (size_t i = 1; i < curve.size(); ++i) {
    if (x > curve[i].first) continue;
    const auto& [x0, y0] = curve[i - 1];
    const auto& [x1, y1] = curve[i];
    return y0 + (y1 - y0) * std::log(x / x0) / std::log(x1 / x0);
  }
  return curve.back().second;
}

// "rms_norm_grad bf16,.." -> "rms_norm_grad": the rate for other dtypes is better than none.
std::string_view op_of(std::string_view form) { return form.substr(0, form.find_first_of(" ,")); }

}  // namespace

FactsClock::FactsClock(const DeviceFacts& facts, const Coord& coord) : facts_(facts), coord_(coord) {
  for (const KernelFact& f : facts.products) products_[f.form].push_back(&f);
  for (const KernelFact& f : facts.attention) attention_[f.form].push_back(&f);
  for (const KernelFact& f : facts.kernels) kernels_[f.form].push_back(&f), shortest_ = std::min(shortest_, f.seconds);
}

const FactsClock::Forms& FactsClock::forms_of(const KernelKind& kind) const {
  switch (kind.table) {
    case KernelKind::Table::product:
      return products_;
    case KernelKind::Table::attention:
      return attention_;
    case KernelKind::Table::memory:
      break;
  }
  return kernels_;
}

const KernelFact* FactsClock::exact(const KernelKind& kind, const Forms& forms) const {
  const auto it = forms.find(kind.form);
  if (it == forms.end()) return nullptr;
  for (const KernelFact* f : it->second)
    if (f->sizes == kind.sizes) return f;
  return nullptr;
}

bool FactsClock::tells_bytes(const KernelKind& kind, const Forms& forms) const {
  const auto it = forms.find(kind.form);
  return it != forms.end() && std::ranges::all_of(it->second, [](const KernelFact* f) { return f->moved > 0; });
}

// Work a second of the nearest measured kernels of this form, or of this op; 0: there are none.
double FactsClock::rate(const KernelKind& kind, const Forms& forms) const {
  const std::lock_guard lock(mutex_);
  const auto [it, is_new] = rates_[kind.table][kind.form].try_emplace(kind.sizes, 0);
  if (is_new) it->second = new_rate(kind, forms);
  return it->second;
}

double FactsClock::new_rate(const KernelKind& kind, const Forms& forms) const {
  std::vector<std::pair<double, const KernelFact*>> near;
  const auto add = [&](const std::vector<const KernelFact*>& facts, double further) {
    for (const KernelFact* f : facts) near.push_back({distance(f->sizes, kind.sizes) + further, f});
  };
  if (const auto it = forms.find(kind.form); it != forms.end()) add(it->second, 0);
  if (near.empty())
    for (const auto& [form, facts] : forms)
      if (op_of(form) == op_of(kind.form)) add(facts, 1);
  if (near.empty()) return 0;
  std::ranges::sort(near, {}, [](const auto& n) { return n.first; });
  if (near.size() > kNeighbours) near.resize(kNeighbours);
  double weights = 0, sum = 0;
  for (const auto& [d, f] : near) {
    const double w = 1 / (d + 1e-3);
    weights += w, sum += w * std::log(kind.work / seconds_like(*f, kind));
  }
  return std::exp(sum / weights);
}

// Without the launch. Products of experts overlap computation and movement of bytes incompletely. Their time is near
// the root of the sum of both squares: weight gradients of 128 experts take 1.69 ms, and this gives 1.72
// (docs/notes/experts.md).
double FactsClock::computing(const KernelFact& f) const {
  const double seconds = std::max(f.seconds - facts_.launch_us * 1e-6, 0.1 * f.seconds);
  if (!(f.moved > 0) || !(facts_.hbm_gbps > 0)) return seconds;
  return std::sqrt(std::max(square(seconds) - square(f.moved / (facts_.hbm_gbps * 1e9)), square(seconds / 2)));
}

// From a short kernel: its time, and the time to move the additional bytes.
double FactsClock::seconds_like(const KernelFact& f, const KernelKind& kind) const {
  const double seconds = computing(f);
  const bool is_short = kind.table == KernelKind::Table::memory && f.seconds < kShort * shortest_;
  return is_short && f.work < kind.work && facts_.hbm_gbps > 0 ? seconds + moving(kind.work - f.work)
                                                               : seconds * kind.work / f.work;
}

// Seconds to move these bytes at the device's bandwidth for so many.
double FactsClock::moving(double bytes) const {
  return bytes / (facts_.hbm_gbps * 1e9 * at(facts_.memory_curve, bytes, kShareOfPeak));
}

double unmeasured_rate(const DeviceFacts& facts, bool codes) {
  const auto peak = facts.peak_tflops.find("bf16");
  constexpr double kOfCodes = 2;  // tensor cores process twice as many numbers of half the bits
  return (peak == facts.peak_tflops.end() ? 100 : peak->second) * (codes ? kOfCodes : 1) * 1e12 * kShareOfPeak;
}

double FactsClock::without_facts(const KernelKind& kind) const {
  if (kind.table == KernelKind::Table::memory) return moving(kind.work);
  return kind.work / unmeasured_rate(facts_, multiplies_codes(kind.form));
}

double FactsClock::seconds(const KernelKind& kind) const {
  if (!(kind.work > 0)) return 0;
  const Forms& forms = forms_of(kind);
  const double moving = facts_.hbm_gbps > 0 ? kind.moved / (facts_.hbm_gbps * 1e9) : 0;
  const KernelFact* same = exact(kind, forms);
  if (tells_bytes(kind, forms)) {
    const double working = same ? computing(*same) * kind.work / same->work : kind.work / rate(kind, forms);
    return facts_.launch_us * 1e-6 + std::hypot(working, moving);
  }
  // Steps are recorded with one micro-batch, whose products write sums without reading them.
  if (same) return std::max(same->seconds * kind.work / same->work, kind.reads_sums > 0 ? moving : 0);
  const double per_second = rate(kind, forms), working = per_second > 0 ? kind.work / per_second : without_facts(kind);
  // Products of few rows, and weight gradients of experts that get few, are bound by memory.
  return facts_.launch_us * 1e-6 + std::max(working, moving);
}

namespace {

// The placement of a group's ranks in nodes; consecutive ranks fill a node.
struct Placement {
  int nodes = 1;
  double each = 1;  // mean number of ranks in a node
};
Placement placement(const std::vector<int>& ranks, int node_gpus) {
  std::vector<int> nodes;
  for (const int r : ranks)
    if (const int node = r / node_gpus; nodes.empty() || nodes.back() != node) nodes.push_back(node);
  if (!std::ranges::is_sorted(nodes)) {
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }
  return {int(nodes.size()), double(ranks.size()) / double(nodes.size())};
}

double doublings(double ranks) { return std::max(0.0, std::ceil(std::log2(ranks))); }

}  // namespace

// In a ring over several nodes, a node uses the network cards of all its ranks in the group. It is at most as fast as
// within a node. With pairs a rank sends to other nodes over its own card.
double FactsClock::transfer(double bytes, double whole, const std::vector<int>& ranks, bool pairs) const {
  const Placement p = placement(ranks, facts_.node_gpus);
  const LinkFacts &node = facts_.node, &network = facts_.network;
  const double inside = at(node.busbw, whole, node.gbps), card = at(network.busbw, whole, network.gbps);
  if (p.nodes == 1) {
    const double latency = node.latency_us + node.hop_us * (doublings(double(ranks.size())) - 1);
    return inside > 0 ? latency * 1e-6 + bytes / (inside * 1e9) : 0;
  }
  if (card <= 0) return 0;
  const double n = double(ranks.size());
  const double latency =
      network.latency_us + network.hop_us * (doublings(p.nodes) - 1) + node.hop_us * doublings(p.each);
  const double gbps = p.each > 1 && inside > 0 ? std::min(inside, p.each * card) : p.each * card;
  const double wire = pairs ? bytes * (n - p.each) / (n - 1) / card : bytes / gbps;
  return latency * 1e-6 + wire / 1e9;
}

// Seconds of a message from measured ones: between two sizes by a power law, below the smallest one as long as that.
static double seconds_of(const TransferFact& f, double wire, double whole) {
  const double share = wire / whole;
  const auto at_point = [&](size_t i) { return share * f.busbw[i].first / (f.busbw[i].second * 1e9); };
  if (whole <= f.busbw.front().first) return at_point(0);
  for (size_t i = 1; i < f.busbw.size(); ++i) {
    if (whole > f.busbw[i].first) continue;
    const double part = std::log(whole / f.busbw[i - 1].first) / std::log(f.busbw[i].first / f.busbw[i - 1].first);
    return at_point(i - 1) * std::pow(at_point(i) / at_point(i - 1), part);
  }
  return wire / (f.busbw.back().second * 1e9);
}

std::optional<double> FactsClock::measured(std::string_view kind, bool lane, double wire, double whole,
                                           const std::vector<int>& ranks) const {
  if (!(wire > 0) || placement(ranks, facts_.node_gpus).nodes > 1) return std::nullopt;
  const TransferFact* best = nullptr;
  double nearest = 0;
  for (const TransferFact& f : facts_.transfers) {
    if (f.kind != kind) continue;
    const double d = std::abs(std::log(double(f.ranks) / double(ranks.size()))) + (f.lane == lane ? 0 : 100);
    if (!best || d < nearest) best = &f, nearest = d;
  }
  return best ? std::optional(seconds_of(*best, wire, whole)) : std::nullopt;
}

double FactsClock::send(double bytes, int from, int to) const {
  if (const auto t = measured("send", true, bytes, bytes, {from, to})) return *t;
  return transfer(bytes, bytes, {from, to});
}

// The measured kind for a transfer: a rotation sends to one neighbour.
static std::string_view measured_kind(Transfer t) {
  if (t == Transfer::rotate) return "send";
  return t == Transfer::all_reduce_max ? name_of(Transfer::all_reduce) : name_of(t);
}

// As copy engines in symmetric memory do. Sums of other numbers of ranks have no kernel (exec/cuda/symmetric).
bool FactsClock::moves_parts(const std::vector<int>& ranks) const {
  const size_t n = ranks.size();
  return (n == 2 || n == 4 || n == 8) && have_symmetric_memory(ranks, facts_);
}

Took FactsClock::seconds(const Plan& plan, const Program& program, const Instruction& in) const {
  if (const auto* both = in.op.get_if<OverlappedProduct>())
    return overlapped_time(*both, in, plan.mesh.n(both->move.axes), moves_parts(both->move.group(plan.mesh, coord_)),
                           [&](const Instruction& one) { return seconds(plan, program, one); });
  Took t;
  if (in.op.get_if<Wait>()) return t;
  if (in.op.get_if<FetchState>() || in.op.get_if<StoreState>() || in.op.get_if<HostFetch>() ||
      in.op.get_if<HostStore>()) {
    t.wire_bytes = cost_of(plan, program, in).bytes;
    if (facts_.pcie_gbps > 0) t.transfer = t.wire_bytes / (facts_.pcie_gbps * 1e9);
    return t;
  }
  if (const auto* r = in.op.get_if<Relayout>(); r && !is_local(r->transfer) && plan.mesh.n(r->axes) > 1) {
    double largest = 0;
    for (const auto* side : {&in.ins, &in.outs})
      for (int b : *side) largest = std::max(largest, double(program.buffers[size_t(b)].bytes));
    t.wire_bytes = wire_bytes(r->transfer, largest, plan.mesh.n(r->axes));
    const bool pairs = r->transfer == Transfer::all_to_all;
    const std::vector<int> ranks = r->group(plan.mesh, coord_);
    const auto seen = measured(measured_kind(r->transfer), r->lane > 0, t.wire_bytes, largest, ranks);
    t.transfer = seen ? *seen : transfer(t.wire_bytes, largest, ranks, pairs);
    return t;
  }
  const KernelKind kind = kind_of(plan, program, in);
  t.work = seconds(kind), t.table = kind.table;
  return t;
}

}  // namespace megalith::sim
