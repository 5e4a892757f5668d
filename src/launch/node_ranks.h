// The ranks of one node in one generation: their processes, what they write and how they end.
#pragma once
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "launch/child.h"
#include "launch/launch_settings.h"
#include "launch/lent_devices.h"
#include "launch/messages.h"
#include "launch/rank_output.h"
#include "launch/snapshot_memory.h"

namespace megalith::launch {

class NodeRanks {
 public:
  NodeRanks(const Settings& settings, int ranks, std::string host);
  ~NodeRanks();  // kills what is left

  void start(const Order& order);
  std::vector<Report> look();                   // what has happened since the last look
  void stop(double grace_seconds, double now);  // later: what has not ended is killed
  void move_on(double now);
  void tell(int signal);
  void kill_all();
  std::vector<std::string> whereabouts() const;  // a line for each rank

  bool is_empty() const { return running_.empty() && standby_.empty() && leaving_.empty(); }
  std::vector<int> fds() const;  // to wake up for

 private:
  struct Rank {
    int rank = 0, local_rank = 0;
    i64 generation = 0, iteration = -1;
    u64 words = 0;     // as LaunchLine::at counts them
    std::string at{};  // what it was at last
    Child child;
    RankOutput out, err;
    bool has_joined = false, is_brought_down = false;
    bool is_ready = false;     // to take over
    bool is_settling = false;  // takes memory beside its steps
    bool has_stood_by = false;
  };

  Rank start_rank(const Order& order, int local_rank, bool stands_by) const;
  void read(Rank& rank);
  static bool hear(Rank& rank);
  bool has_ended(Rank& rank, std::vector<Report>& reports);
  std::optional<int> wait_status(const Rank& rank);
  void bring_down(Rank& rank);
  OutputWays ways(int stream, const Order& order, int rank) const;
  // Ranks that stand by (node_standby.cpp).
  void keep_standby();
  bool take_over(const Order& order);  // false: there are none that can
  void end_standby();
  // Whether what this program does beside the steps may hold them up: memory is taken, or ranks that stand by come up.
  bool is_settling() const;

  const Settings settings_;
  LentDevices devices_;
  const std::string host_;
  const SnapshotMemory snapshots_;
  std::list<Rank> running_;
  Order order_;  // the last start
  std::list<Rank> standby_;
  Listener standby_port_, port_;  // at which those meet; at which the running ones have met, if they have stood by
  bool has_standby_failed_ = false, has_told_standby_ = false;  // in this generation
  std::list<pid_t> leaving_;                                    // that have ended, and that the system still takes down
  i64 generation_ = 0, told_iteration_ = -1, memory_kills_ = 0;
  bool has_moved_ = false;  // since the last report
  double moved_at_ = 0;     // by the steady clock
  std::optional<double> kill_unjoined_, kill_all_;
};

}  // namespace megalith::launch
