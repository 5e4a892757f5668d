// Decides when the ranks of all nodes start, stop and restart. It has no clock and no sockets: callers pass events
// with their time, and take the orders. States: gathering (it waits for nodes) -> running -> stopping -> gathering.
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/cause.h"
#include "launch/hang_limit.h"
#include "launch/messages.h"

namespace megalith::launch {

struct Rules {
  int nodes = 1;
  i64 max_restarts = 100;
  double window_seconds = 3600;     // older restarts do not count
  i64 min_progress = 1;             // new iterations that each generation must do
  double grace_seconds = 2;         // from the first failure until the agents kill the other ranks
  double kill_grace_seconds = 0.2;  // the same if a signal ended the rank; other ranks then know no better cause
  double rejoin_seconds = 60;       // how long a lost node may take to come back
  double join_seconds = 600;        // how long all nodes may take to come at first
  double quiet_seconds = 5;         // after so long a line tells who is waited for
  bool learns_hang = false;         // instead of the next one (hang_limit.h)
  double hang_seconds = 0;          // seconds without progress after the first step that end a generation; 0: no limit
  int spares = 0;                   // nodes without ranks, until another one is lost
  int least_nodes = 0;              // fewest nodes that may run; 0: all
  i64 least_ranks = 0;              // fewest ranks that may run; 0: all ranks of the available nodes
  double wait_seconds = 10;         // how long to wait for all nodes before fewer start
  i64 snapshot_steps = 0;           // steps between snapshots; a restart with more ranks waits for a snapshot; 0: none

  bool is_elastic() const { return least_ranks > 0 || least_nodes > 0; }
};

// How many ranks run, and with which layout.
struct World {
  World(int number = 0, std::string flags = {}) : ranks(number), layout(std::move(flags)) {}

  int ranks;           // 0: none can run
  std::string layout;  // flags after those of the command; empty: the command's own layout
};
// The largest world with at most so many ranks.
using Worlds = std::function<World(int)>;

struct Verdict {
  int code = 0;
  std::string why;  // the last line of the launch; empty: no line
};

class Controller {
 public:
  // `master` gives the address and port of each generation's ranks.
  using Master = std::function<std::pair<std::string, int>()>;
  Controller(const Rules& rules, Master master, Worlds worlds = {})
      : rules_(rules), master_(std::move(master)), worlds_(std::move(worlds)), nodes_(size_t(rules.nodes)) {}

  void take(int node, const Report& report, double now);
  void lost(int node, double now);
  void told_to_end(int signal) { told_ = signal; }
  void tick(double now);

  // The orders since the last call, in their order.
  std::vector<std::pair<int, Order>> orders() { return std::exchange(orders_, {}); }
  std::vector<std::string> lines() { return std::exchange(lines_, {}); }  // for people
  const std::optional<Verdict>& verdict() const { return verdict_; }
  i64 generation() const { return generation_; }

 private:
  enum class State { gathering, running, stopping };
  struct Node {
    bool is_here = false;
    std::string host;
    int ranks = 0;                    // that this node can start
    int started = 0, first_rank = 0;  // in this generation
    std::optional<Order> runs{};      // what it said in its hello
  };

  void start(const World& world, double now);
  bool adopt(double now);
  World world_now() const;   // that can start now
  int ranks_needed() const;  // the fewest that can run, if the available ones are too few; 0: unknown
  void tell_need(double patience);
  void tell_missing(double now, double patience);
  std::string missing() const;  // "1, 3"
  void look_for_growth();
  bool leaves_out(const Exit& cause, Meaning m);
  void stop(double now, double grace_seconds, bool is_hang = false);
  void exited(Exit e, double now);
  void silent(int rank, double now);
  void progressed(const Report& report, double now);
  void look_for_hang(double now);
  void decide(double now);
  void restart(const Exit* cause, double now);
  std::string told_without_cause() const;
  bool all_here() const;             // that work
  std::vector<int> workers() const;  // the nodes that work in the next generation; all that are there, without spares
  int live_ranks() const;
  bool all_exited() const;
  void end(int code, std::string why);
  void end_told();
  void order_all(Order order);

  const Rules rules_;
  const Master master_;
  const Worlds worlds_;
  std::vector<Node> nodes_;
  State state_ = State::gathering;
  bool is_new_ = true;                         // it has started no generation, and taken over none
  std::vector<std::pair<int, Report>> early_;  // of a former controller's ranks, before it has heard all agents
  i64 generation_ = 0;
  int world_ = 0, told_ = 0;
  std::string layout_;                         // of this generation
  std::vector<Exit> exits_;                    // of this generation, in the order of their reports
  std::optional<double> fault_, waits_since_;  // when the generation failed; since when a node is missing
  bool says_first_step_ = false, has_stepped_ = false, hangs_ = false, grows_ = false;  // of this generation
  bool has_told_need_ = false, has_told_missing_ = false;
  i64 grows_behind_ = -1;  // the iteration at which more ranks became available
  HangLimit hang_limit_;
  double hung_for_ = 0;             // seconds
  int silent_rank_ = -1;            // of this generation
  i64 last_ = -1;                   // iteration of this generation
  i64 furthest_ = -1, begin_ = -1;  // last iteration of all generations; of all earlier generations
  int without_progress_ = 0;        // number of consecutive generations
  std::deque<double> restarts_;     // when
  std::vector<std::pair<int, Order>> orders_;
  std::vector<std::string> lines_;
  std::optional<Verdict> verdict_;
};

}  // namespace megalith::launch
