// The ranks of one node in one generation: their processes, output and exit status.
#pragma once
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "launch/child.h"
#include "launch/core_waits.h"
#include "launch/launch_settings.h"
#include "launch/lent_devices.h"
#include "launch/messages.h"
#include "launch/node_place.h"
#include "launch/rank_output.h"
#include "launch/slot_server.h"
#include "launch/snapshot_memory.h"
#include "launch/thread_stacks.h"

namespace megalith::launch {

class NodeRanks {
 public:
  // `place`: of this node.
  NodeRanks(const Settings& settings, const NodePlace& place, std::string host);
  ~NodeRanks();  // kills the remaining ranks

  void start(const Order& order);
  std::vector<Report> look();                   // events since the last call
  void stop(double grace_seconds, double now);  // at the end of the grace period the remaining ranks are killed
  void move_on(double now);
  void tell(int signal);
  void kill_all();
  void keep_no_standby();                                 // from now on: nothing starts again
  void give_back_snapshots() { snapshots_.give_back(); }  // after kill_all()
  bool kills_controller();                       // whether a rank's injected fault is that, since the last call
  void collect_stacks();                         // of hung ranks, before stop()
  std::vector<std::string> whereabouts() const;  // for each rank a line and the stacks of its threads

  bool is_stopping() const { return kill_all_.has_value() && !running_.empty(); }
  bool is_empty() const { return running_.empty() && standby_.empty() && leaving_.empty(); }
  std::vector<int> fds() const;  // descriptors whose input must wake the agent

 private:
  struct Rank {
    int rank = 0, local_rank = 0;
    i64 generation = 0, iteration = -1;
    u64 words = 0;     // counter from LaunchLine::at
    std::string at{};  // its last reported activity
    ThreadStacks stacks{};
    Child child;
    RankOutput out, err;
    bool has_joined = false, is_brought_down = false;
    bool is_ready = false;     // a standby rank that can take over
    bool is_settling = false;  // it allocates memory during its steps
    bool has_stood_by = false;
    bool kills_controller = false;
    int silent_rank = -1;  // the rank that it does not hear; -1: none, or it is reported
    Phase phase = Phase::training;
  };

  Rank start_rank(const Order& order, int local_rank, bool stands_by) const;
  void read(Rank& rank);
  static bool hear(Rank& rank);
  bool has_ended(Rank& rank, std::vector<Report>& reports);
  std::optional<int> wait_status(const Rank& rank);
  void bring_down(Rank& rank);
  SnapshotFds lent_memory() const;
  OutputWays ways(int stream, const Order& order, int rank) const;
  // Standby ranks (node_standby.cpp).
  void keep_standby();
  bool take_over(const Order& order);  // false: no standby ranks are ready
  void end_standby();
  // Whether steps may be slow for a known reason: ranks pin memory, or standby ranks start.
  bool is_settling() const;
  bool waits_for_cores(double now);  // if hangs are looked for

  const Settings settings_;
  LentDevices devices_;
  const std::string host_;
  SnapshotMemory snapshots_;
  std::optional<SlotServer> server_;  // for ranks of other nodes
  std::list<Rank> running_;
  Order order_;  // the last start order
  std::list<Rank> standby_;
  Listener standby_port_, port_;  // ports of the standby ranks, and of running ranks that were standby ranks
  bool has_standby_failed_ = false, has_told_standby_ = false;  // in this generation
  bool wants_standby_;
  std::list<pid_t> leaving_;  // ended ranks that the system still tears down
  i64 generation_ = 0, told_iteration_ = -1, memory_kills_ = 0;
  bool has_moved_ = false;  // since the last report
  double moved_at_ = 0;     // by the steady clock
  CoreWaits core_waits_;
  Phase phase_ = Phase::training;  // of the last report
  std::optional<double> kill_unjoined_, kill_all_;
};

}  // namespace megalith::launch
