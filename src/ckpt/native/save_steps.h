// The collective steps of a save: the first rank begins, all write, the first commits. The caller passes each step's
// result to the next. In training resume/background_save.h does so, and no step waits for another rank.
#pragma once
#include <string>
#include <vector>

#include "ckpt/native/checkpoint.h"

namespace megalith {

// Writes a format's files into a checkpoint's directory.
class PartWriter {
 public:
  virtual ~PartWriter() = default;
  // Writes this rank's files, which are on disk on return. Returns its report for the first rank.
  virtual std::string write(const std::string& at) = 0;
  // On the first rank: the files about all parts, by the ranks' accounts; on disk when it returns.
  virtual void describe(const std::string& at, const std::vector<std::string>& accounts) = 0;
};

// SAVE/iter_NNNNNNN, made by the first rank's process.
class SaveSteps {
 public:
  SaveSteps(std::string dir, i64 iteration, SaveOptions options)
      : dir_(std::move(dir)), iteration_(iteration), options_(std::move(options)) {}

  // Makes an empty directory next to the checkpoint's final one, and returns it. SAVE itself must exist: otherwise it
  // has been moved or unmounted.
  std::string begin();
  // Once all parts are written: the checkpoint appears by one rename, and `latest` names it.
  void commit(PartWriter& writer, const std::vector<std::string>& accounts);
  // Instead of commit: leaves nothing.
  void abandon() noexcept;
  // After commit: the checkpoint that it replaced, and old ones, are deleted. A failure is a warning.
  void tidy();

 private:
  std::string place() const;
  void publish();

  std::string dir_;
  i64 iteration_;
  SaveOptions options_;
  std::string temporary_;  // until it is published
  std::string replaced_;   // the one that was exchanged with it
};

// All steps, by one process for all ranks; SAVE is created if needed. Error if a step fails; then nothing is left and
// earlier checkpoints are unchanged.
void save_alone(const std::string& dir, i64 iteration, PartWriter& writer, const SaveOptions& options);

}  // namespace megalith
