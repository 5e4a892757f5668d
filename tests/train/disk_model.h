// Models a disk after a power cut: synced data are there, unsynced data may be.
//
// It listens to the steps of a save (StepHook), by one thread or several. File contents are those of the real files.
// A file without fsync may have any part of its bytes, or zeros. Names in an unsynced directory may each be there or
// not.
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
  // Starts from an existing directory, all of it synced. Steps for which `forgets` is true are ignored, as in a
  // program that lacks them.
  explicit DiskModel(std::string root, std::function<bool(const FileStep&)> forgets = {});

  // The hook of the save. May be called by several threads.
  void see(const FileStep& step);
  int steps() const { return int(steps_.size()); }
  std::string print(int step) const;

  // Calls f with possible contents after a power cut before step `cut`: file -> bytes and directory -> "/", with
  // paths below root. All of them if there are few, else the same selection each time.
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
  // For each file, by the step that made it: its last known content.
  std::map<int, std::string> bytes_;
  std::map<std::string, int> made_by_;  // existing files, by real path
};

}  // namespace megalith
