// Decides when the ranks of all nodes start, stop and start again. No clock, no sockets: it is told what happens and
// when, and says what to do. States: gathering (nodes are waited for) -> running -> stopping -> gathering.
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/cause.h"
#include "launch/messages.h"

namespace megalith::launch {

struct Rules {
  int nodes = 1;
  i64 max_restarts = 100;
  double window_seconds = 3600;  // restarts that are longer ago do not count
  i64 min_progress = 1;          // iterations beyond all before that a generation must do
  double grace_seconds = 2;      // for ranks to end by themselves once one has
  double rejoin_seconds = 60;    // for a node that is gone to come back
  double join_seconds = 600;     // for all nodes to come at first
  double hang_seconds = 0;       // without any progress, once a step is done, that end a generation; 0: any number
  int least_nodes = 0;           // that will do; 0: all
  i64 least_ranks = 0;           // likewise; 0: all of the nodes that there are
  double wait_seconds = 10;      // for all to be there before fewer start
  i64 snapshot_steps = 0;        // between snapshots, behind which more ranks start; 0: there are none

  bool is_elastic() const { return least_ranks > 0 || least_nodes > 0; }
};

// The most ranks of so many that can share the work; 0: none.
using Worlds = std::function<int(int)>;

struct Verdict {
  int code = 0;
  std::string why;  // the last line of the launch; empty where nothing is to be said
};

class Controller {
 public:
  // `master` gives address and port for each generation's ranks.
  using Master = std::function<std::pair<std::string, int>()>;
  Controller(const Rules& rules, Master master, Worlds worlds = {})
      : rules_(rules), master_(std::move(master)), worlds_(std::move(worlds)), nodes_(size_t(rules.nodes)) {}

  void take(int node, const Report& report, double now);
  void lost(int node, double now);
  void told_to_end(int signal) { told_ = signal; }
  void tick(double now);

  // What is to be done, in order; each is given once.
  std::vector<std::pair<int, Order>> orders() { return std::exchange(orders_, {}); }
  std::vector<std::string> lines() { return std::exchange(lines_, {}); }  // for people
  const std::optional<Verdict>& verdict() const { return verdict_; }
  i64 generation() const { return generation_; }

 private:
  enum class State { gathering, running, stopping };
  struct Node {
    bool is_here = false;
    std::string host;
    int ranks = 0;                    // that it can start
    int started = 0, first_rank = 0;  // of this generation
  };

  void start(int world);
  int world_now() const;  // ranks that could start; 0: too few
  void look_for_growth();
  bool leaves_out(const Exit& cause, Meaning m);
  void stop(double now, bool is_hang = false);
  void exited(const Exit& e, double now);
  void progressed(i64 iteration, double now);
  void look_for_hang(double now);
  void decide(double now);
  void restart(const Exit* cause, double now);
  std::string told_without_cause() const;
  bool all_here() const;
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
  i64 generation_ = 0;
  int world_ = 0, told_ = 0;
  std::vector<Exit> exits_;                    // of this generation, in the order in which they were heard of
  std::optional<double> fault_, waits_since_;  // when the generation went wrong; since when a node is missing
  bool says_first_step_ = false, has_stepped_ = false, hangs_ = false, grows_ = false;  // of this generation
  i64 grows_behind_ = -1;           // the iteration at which more ranks were there
  double moved_ = 0;                // when anything did
  i64 furthest_ = -1, begin_ = -1;  // iteration of all generations; of those before this one
  int without_progress_ = 0;        // generations, one behind the other
  std::deque<double> restarts_;     // when
  std::vector<std::pair<int, Order>> orders_;
  std::vector<std::string> lines_;
  std::optional<Verdict> verdict_;
};

}  // namespace megalith::launch
