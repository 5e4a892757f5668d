// Snapshots of a run's state in the agents' memory, every few iterations. Each rank writes its own; ranks overwrite
// one only when all of them have the next (--snapshot-steps of `megalith launch`).
#pragma once
#include <atomic>
#include <future>
#include <optional>
#include <string>

#include "comm/ranks.h"
#include "comm/snapshot_fds.h"
#include "resume/checkpointing.h"
#include "state/state_blocks.h"

namespace megalith {

// What a snapshot says of itself, in its training state.
struct SnapshotMark {
  std::string start;  // of the run that made it
  int rank = 0, world = 0;
  bool is_whole = false;  // all that the rank holds; else ranks that hold the same have shared it out
  i64 elements = 0;       // of the whole state; 0: not known, as the rank has a stage of a pipeline
  std::string layout;
};
std::string layout_key(const Options& options);
int snapshot_threads(const Place& place);  // that a rank has for its snapshot
SnapshotMark snapshot_mark(const Manifest& manifest);

class Snapshots {
 public:
  // On all ranks. `begun`: the iteration of the snapshot that the run goes on from; its slot stays until the next one
  // is there. Error if the host lacks the memory.
  Snapshots(const Options& options, const ModelState& model, Ranks& ranks, std::optional<i64> begun);
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  bool is_due(i64 iteration) const { return lent_.steps > 0 && iteration % lent_.steps == 0; }
  // Behind each step. Behind the first one what copies need is made beside the next ones, and the agent knows of it.
  void make_room();
  // On all ranks, between steps. What goes wrong is a warning. From a device the state comes beside the next steps.
  void take(const RunProgress& progress, const Schedules& schedules);
  void finish();  // until this rank's memory for copies is free

 private:
  int own_slot(int i) const;
  void check_room(bool has_slots) const;
  void free_idle(int made) const;
  bool has_room(double seconds) const;  // for copies; waits so long for it
  void say_settled();
  void write(const Manifest& manifest, int fd) const;

  const Options& o_;
  const ModelState& model_;
  Ranks& ranks_;
  const SnapshotFds lent_;
  StateShare share_;
  std::string start_;
  int next_ = 0;  // slot to write
  int made_ = 0;  // by all ranks
  bool has_written_ = false, has_asked_room_ = false;
  std::optional<double> settles_since_;  // on the steady clock
  std::atomic<bool> is_over_ = false;
  std::optional<StateBlocks> blocks_;
  std::future<void> work_;
  std::string error_;  // of the last one
};

}  // namespace megalith
