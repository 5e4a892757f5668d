// The messages between agents and the controller of `megalith launch`. Each one except a hello carries the
// generation: the number of times that the ranks were started. Messages of other generations are ignored.
#pragma once
#include <optional>
#include <string>

#include "base/dtype.h"

namespace megalith::launch {

// How a rank ended.
struct Exit {
  int rank = -1, code = 0;
  int signal = 0;                   // that ended the rank, or 0
  bool is_brought_down = false;     // its agent killed it because another rank had failed
  bool has_stood_by = false;        // it was a standby rank that took over, so its command is valid
  bool is_silent = false;           // its watch gave no sign of life, so all ranks were killed
  bool is_out_of_memory = false;    // the system killed it because memory ran out
  i64 pid = 0, iteration = -1;      // last iteration of this generation; -1: none
  std::string host{}, last_line{};  // of its stderr
};

// A message from the controller.
struct Order {
  enum class Kind { start, stop, finish };
  Kind kind = Kind::start;
  i64 generation = 0;
  int first_rank = 0, ranks = 0, world = 0;  // in a start, as are the next four; `ranks`: of the node
  std::string layout{};                      // flags after those of the command
  std::string master_address{};
  int master_port = 0;
  // What a new controller must know of the generations before this one.
  struct Past {
    i64 furthest = -1, begin = -1;
    int restarts = 0, without_progress = 0;
  } past{};
  double grace = 0;      // in a stop: seconds until the remaining ranks are killed
  bool is_hang = false;  // in a stop: each agent reports what its ranks were doing
  bool leaves = false;   // in a stop: ranks save and exit without a signal
  int code = 0;          // in a finish: the agent's exit code
  std::string why{};     // in a finish: the last line of the launch, which the agent of node 0 prints
};

// What the ranks of a node do.
enum class Phase { training, evaluating, saving };

// A message from an agent.
struct Report {
  enum class Kind { hello, exited, progress, told, silent };
  Kind kind = Kind::hello;
  i64 generation = 0;    // in a hello: the last one that this agent knows
  std::string run_id{};  // in a hello, as are the next three
  std::string host{};
  int ranks = 0;                  // that this node starts
  i64 snapshot_steps = 0;         // 0: no snapshots
  std::optional<Order> runs{};    // in a hello: the order by which this agent has started its ranks
  i64 iteration = -1;             // in a progress message: the last iteration; -1: none, but something advances
  Phase phase = Phase::training;  // in a progress message: of the time after it
  Exit exit{};                    // of exited
  int signal = 0;                 // in told: asks the launch to end
  int silent_rank = -1;           // in silent: that other ranks do not hear
};

std::string text_of(const Report& report);
std::string text_of(const Order& order);
// Error if the text is no report.
Report report_from(const std::string& text);
Order order_from(const std::string& text);

}  // namespace megalith::launch
