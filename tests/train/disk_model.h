// Models a disk after a power cut. Synced data exist. Unsynced data may exist or not.
//
// The model gets the steps of a save (StepHook) from one thread or several. It reads the contents of the real files.
// A file without fsync may have any part of its bytes, or zeros. Each name in an unsynced directory may exist or not.
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
  // Starts from an existing directory that is fully synced. Steps for which `forgets` is true are ignored, as if the
  // program omitted them.
  explicit DiskModel(std::string root, std::function<bool(const FileStep&)> forgets = {});

  // The hook of a save. Several threads may call it.
  void see(const FileStep& step);
  int steps() const { return int(steps_.size()); }
  std::string print(int step) const;

  // Calls f with possible disk contents after a power cut before step `cut`. A map has file -> bytes and directory ->
  // "/", with paths relative to root. If there are few contents, f gets all. Otherwise it gets the same selection in
  // each run.
  using Left = std::map<std::string, std::string>;
  void for_states(int cut, const std::function<void(const Left&)>& f) const;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Change {  // names in a directory; nullptr: the name is removed
    std::vector<std::pair<std::string, NodePtr>> names;
  };
  struct Node {
    bool is_directory = false, is_synced = true;
    std::string bytes;
    std::map<std::string, NodePtr> names, synced_names;
    std::vector<Change> changes;  // since the last sync of the directory
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
  // The last known content of each file. The key is the step that created it.
  std::map<int, std::string> bytes_;
  std::map<std::string, int> made_by_;  // existing files, by real path: the step that created it
};

}  // namespace megalith
