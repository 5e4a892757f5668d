// Chooses the nodes, and the number of ranks on each node, of a generation.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "launch/controller.h"

namespace megalith::launch {

bool Controller::all_here() const {
  if (rules_.spares > 0) return nodes_[0].is_here && int(workers().size()) == rules_.nodes - rules_.spares;
  return std::ranges::all_of(nodes_, [](const Node& n) { return n.is_here; });
}

// Nodes that work already have the state in memory, so they come before spare ones. Node 0 has the controller.
std::vector<int> Controller::workers() const {
  std::vector<int> here;
  for (int i = 0; i < rules_.nodes; ++i)
    if (nodes_[size_t(i)].is_here) here.push_back(i);
  const auto is_later = [&](int i) { return i > 0 && nodes_[size_t(i)].started == 0; };
  if (rules_.spares > 0) std::ranges::stable_sort(here, {}, is_later);
  here.resize(std::min(here.size(), size_t(rules_.nodes - rules_.spares)));
  std::ranges::sort(here);
  return here;
}

int Controller::live_ranks() const {
  int ranks = 0;
  for (const int i : workers()) ranks += nodes_[size_t(i)].ranks;
  return ranks;
}

World Controller::world_now() const {
  const int live = live_ranks();
  if (!rules_.is_elastic()) return live;
  const auto here = std::ranges::count_if(nodes_, [](const Node& n) { return n.is_here; });
  if (!nodes_[0].is_here || here < (rules_.least_nodes > 0 ? rules_.least_nodes : 1)) return 0;
  const World world = worlds_ ? worlds_(live) : World(live);
  return world.ranks >= rules_.least_ranks ? world : World();
}

int Controller::ranks_needed() const {
  constexpr int kMost = 4096;
  for (int n = live_ranks() + 1; n <= kMost; ++n)
    if (const int ranks = worlds_ ? worlds_(n).ranks : n; ranks > 0 && ranks >= rules_.least_ranks) return n;
  return 0;
}

void Controller::tell_need(double patience) {
  if (std::exchange(has_told_need_, true)) return;
  const auto here = std::ranges::count_if(nodes_, [](const Node& n) { return n.is_here; });
  std::string need = fmt::format("{} nodes", rules_.least_nodes);
  if (here >= rules_.least_nodes) {
    const int ranks = ranks_needed();
    need = ranks > 0 ? fmt::format("{} ranks", ranks) : "another number of ranks";
  }
  if (!nodes_[0].is_here) need = "node 0";
  lines_.push_back(fmt::format("{} ranks on {} nodes are available, and the run needs {}: waiting {} s for more nodes",
                               live_ranks(), here, need, patience));
}

// The former controller of these ranks has ended, and they have gone on without one.
bool Controller::adopt(double now) {
  i64 newest = 0;
  for (const Node& n : nodes_)
    if (n.is_here && n.runs) newest = std::max(newest, n.runs->generation);
  const auto runs = [&](const Node& n) { return n.is_here && n.runs && n.runs->generation == newest; };
  int covered = 0;
  const Order* order = nullptr;
  for (const Node& n : nodes_)
    if (runs(n)) covered += n.runs->ranks, order = &*n.runs;
  if (!order || covered < order->world) return false;
  is_new_ = false;
  state_ = State::running;
  generation_ = newest, world_ = order->world, layout_ = order->layout;
  furthest_ = order->past.furthest, begin_ = order->past.begin, without_progress_ = order->past.without_progress;
  restarts_.assign(size_t(std::max(0, order->past.restarts)), now);
  hang_limit_.begin(now);
  lines_.push_back(fmt::format("a new controller has taken over {} ranks of generation {}", world_, generation_));
  for (Node& n : nodes_) n.started = runs(n) ? n.runs->ranks : 0, n.first_rank = runs(n) ? n.runs->first_rank : world_;
  for (const auto& [node, report] : std::exchange(early_, {})) take(node, report, now);
  return true;
}

void Controller::start(const World& world, double now) {
  is_new_ = false;
  ++generation_;
  waits_since_.reset();
  exits_.clear();
  early_.clear();
  has_stepped_ = hangs_ = grows_ = has_told_need_ = has_told_missing_ = false;
  silent_rank_ = -1;
  grows_behind_ = last_ = -1;
  hang_limit_.begin(now);
  begin_ = furthest_;
  const int ranks_before = std::exchange(world_, world.ranks);
  const std::string layout_before = std::exchange(layout_, world.layout);
  if (rules_.is_elastic() && (ranks_before != world_ || layout_before != layout_))
    lines_.push_back(fmt::format("generation {} starts {} of {} available ranks{}{}", generation_, world_, live_ranks(),
                                 layout_.empty() ? "" : " with ", layout_));
  const auto [address, port] = master_();
  int given = 0;
  const std::vector<int> working = workers();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& n = nodes_[i];
    n.first_rank = given;
    n.started = std::ranges::find(working, int(i)) != working.end() ? std::min(n.ranks, world_ - given) : 0;
    given += n.started;
    if (n.is_here)
      orders_.push_back({int(i),
                         {.kind = Order::Kind::start,
                          .generation = generation_,
                          .first_rank = n.first_rank,
                          .ranks = n.started,
                          .world = world_,
                          .layout = layout_,
                          .master_address = address,
                          .master_port = port,
                          .past = {furthest_, begin_, int(restarts_.size()), without_progress_}}});
  }
  state_ = State::running;
}

// The restart follows a snapshot, so few steps are repeated. With --save the ranks also save. A generation before its
// first step continues.
void Controller::look_for_growth() {
  if (!rules_.is_elastic() || !has_stepped_ || world_now().ranks <= world_) return;
  if (grows_behind_ < 0) grows_behind_ = furthest_;
  const i64 steps = rules_.snapshot_steps;
  if (steps > 0 && (furthest_ - 1) / steps <= (grows_behind_ - 1) / steps) return;
  constexpr double kSaveSeconds = 600;
  lines_.push_back(
      fmt::format("{} ranks are available instead of {}: restarting with them", world_now().ranks, world_));
  grows_ = true;
  state_ = State::stopping;
  order_all({.kind = Order::Kind::stop, .generation = generation_, .grace = kSaveSeconds, .leaves = true});
}

// One rank fewer starts if its device computes wrongly, or if the same command no longer starts on it.
bool Controller::leaves_out(const Exit& cause, Meaning m) {
  const bool is_lost =
      m == Meaning::persistent_doubt || (m == Meaning::configuration && cause.code == 1 && furthest_ >= 0);
  if (!is_lost || rules_.least_ranks == 0) return false;
  for (Node& n : nodes_) {
    if (cause.rank < n.first_rank || cause.rank >= n.first_rank + n.started) continue;
    --n.ranks;
    if (world_now().ranks > 0) {
      lines_.push_back(fmt::format("the device of rank {} on {} is not used any more", cause.rank, n.host));
      return true;
    }
    ++n.ranks;
  }
  return false;
}

}  // namespace megalith::launch
