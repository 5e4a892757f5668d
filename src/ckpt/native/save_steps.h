// Saving as the steps that ranks take together: the first begins, all write, the first commits. Whoever drives them
// carries what one step returns to the next: between ranks a training's resume/background_save.h, and no step waits for
// another rank.
#pragma once
#include <string>
#include <vector>

#include "ckpt/native/checkpoint.h"

namespace megalith {

// What a format puts into a checkpoint's directory.
class PartWriter {
 public:
  virtual ~PartWriter() = default;
  // This rank's files, on disk when it returns; what it tells the first rank of them.
  virtual std::string write(const std::string& at) = 0;
  // On the first rank: the files about all parts, by the ranks' accounts; on disk when it returns.
  virtual void describe(const std::string& at, const std::vector<std::string>& accounts) = 0;
};

// SAVE/iter_NNNNNNN, made by the first rank's process.
class SaveSteps {
 public:
  SaveSteps(std::string dir, i64 iteration, SaveOptions options)
      : dir_(std::move(dir)), iteration_(iteration), options_(std::move(options)) {}

  // Makes an empty directory beside the checkpoint's place, and returns it. SAVE itself must be there: one that is not
  // has been moved away or unmounted.
  std::string begin();
  // Once all parts are written: the checkpoint appears by one rename, and `latest` names it.
  void commit(PartWriter& writer, const std::vector<std::string>& accounts);
  // Instead: nothing is left behind.
  void abandon() noexcept;
  // After commit: unfinished ones of processes that are gone, and old ones, are deleted. A failure is a warning.
  void tidy();

 private:
  std::string place() const;
  void publish();

  std::string dir_;
  i64 iteration_;
  SaveOptions options_;
  std::string temporary_;  // until it is published
};

// All steps at once, by one process for all ranks; SAVE is made if it is not there. Error if a step fails, with nothing
// left behind and earlier checkpoints untouched.
void save_alone(const std::string& dir, i64 iteration, PartWriter& writer, const SaveOptions& options);

}  // namespace megalith
