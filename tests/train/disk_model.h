// What a disk may hold after a power cut: all that was synced, and any part of what was not.
//
// It listens to the steps of a save (StepHook), by one thread or several. Files hold what the real ones do; a file that
// was not fsynced may be there with any part of its bytes, or zeros. Names of a directory that was not synced may be
// there or not, each by itself.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ckpt/tensors/files.h"

namespace megalith {

class DiskModel {
 public:
  // Starts from a directory that is there, all of it synced. A step for which `forgets` is true is left out, as a
  // program that forgot it would.
  explicit DiskModel(std::string root, std::function<bool(const FileStep&)> forgets = {});

  // The hook of the save. May be called by several threads.
  void see(const FileStep& step);
  int steps() const { return int(steps_.size()); }
  std::string print(int step) const;

  // Calls f with what may be left if the power is cut before step `cut`: file -> bytes and directory -> "/", by the
  // paths below root. All states where there are few, else a choice that is the same each time.
  using Left = std::map<std::string, std::string>;
  void for_states(int cut, const std::function<void(const Left&)>& f) const;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Change {  // of a directory's names; nullptr: the name is gone
    std::vector<std::pair<std::string, NodePtr>> names;
  };
  struct Node {
    bool is_directory = false, is_synced = true;
    std::string bytes;
    std::map<std::string, NodePtr> names, synced_names;
    std::vector<Change> changes;  // since the directory was synced
  };
  struct Step {
    std::string kind, path, target;
  };
  struct Replay;

  void keep_bytes();

  std::string root_;
  std::function<bool(const FileStep&)> forgets_;
  std::mutex mutex_;
  Left before_;
  std::vector<Step> steps_;
  // Of each file by the number of the step that made it: what was seen in it last.
  std::map<int, std::string> bytes_;
  std::map<std::string, int> made_by_;  // of the files that are there now, by real path
};

}  // namespace megalith
