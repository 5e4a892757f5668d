// Snapshots of a run's state in the agents' memory, every --snapshot-steps iterations. Each rank has two slots and
// writes the older one. It starts only after all ranks have completed the newer one, so one complete snapshot always
// exists.
#pragma once
#include <atomic>
#include <future>
#include <optional>
#include <string>

#include "comm/ranks.h"
#include "comm/snapshot_fds.h"
#include "resume/checkpointing.h"
#include "resume/snapshot_copies.h"
#include "state/state_blocks.h"

namespace megalith {

// The description of a snapshot, in its training state.
struct SnapshotMark {
  std::string start;  // name of the start that made it
  int rank = 0, world = 0;
  bool is_whole = false;  // true: all that the rank holds; false: ranks that hold the same state divided it
  i64 elements = 0;       // of the whole state; 0: unknown, because the rank has a pipeline stage
  std::string layout;
};
std::string layout_key(const Options& options);
int snapshot_threads(const Place& place);  // threads of a rank that write or read a snapshot
SnapshotMark snapshot_mark(const Manifest& manifest);

class Snapshots {
 public:
  // Collective. `begun`: the iteration of the snapshot from which the run resumes; its slot is kept until the next
  // snapshot is complete. Error if the host lacks memory.
  Snapshots(const Options& options, const ModelState& model, Ranks& ranks, std::optional<i64> begun);
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  bool is_due(i64 iteration) const { return lent_.steps > 0 && iteration % lent_.steps == 0; }
  // Called after each step. After the first step it starts to pin the host memory for copies, in the background. It
  // reports this to the agent, which then allows slower steps.
  void make_room();
  // Collective, between steps. A failure is a warning. The copy from a device overlaps the next steps.
  void take(const RunProgress& progress, const Schedules& schedules);
  void finish();  // waits until the copy in host memory is no longer used

 private:
  int own_slot(int i) const;
  void check_room(bool has_slots) const;
  void free_idle(int made) const;
  void free_old_copies() const;
  void warn_of(const std::vector<std::string>& errors);
  bool has_room(double seconds) const;  // whether host memory is pinned; waits at most this long
  void say_settled();
  void write(const Manifest& manifest, int fd, int turn_of_copies);

  const Options& o_;
  const ModelState& model_;
  Ranks& ranks_;
  const SnapshotFds lent_;
  StateShare share_;
  std::string start_;
  int next_ = 0;    // the slot of the next snapshot
  int made_ = 0;    // number of snapshots that all ranks completed
  int copied_ = 0;  // number of those whose copies on other nodes are complete
  bool has_written_ = false, has_asked_room_ = false;
  std::optional<double> settles_since_;  // time on the steady clock
  std::atomic<bool> is_over_ = false;
  std::optional<StateBlocks> blocks_;
  std::optional<SnapshotCopies> copies_;
  bool has_warned_of_copies_ = false;
  std::future<void> work_;
  std::string error_;  // of the previous snapshot
};

}  // namespace megalith
