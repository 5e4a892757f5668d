// Writes the file of a W&B offline run, which `wandb sync` sends: a header, then records in blocks as in LevelDB's
// log format, each with a checksum. A record is a protobuf message; this class encodes the few that a run needs.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/append_file.h"
#include "base/dtype.h"

namespace megalith {

// A name and its value as JSON.
using WandbItems = std::vector<std::pair<std::string, std::string>>;

std::string wandb_json(double value);           // NaN, Infinity and -Infinity in W&B's form
std::string wandb_json(std::string_view text);  // quoted

struct WandbRun {
  std::string id{}, entity{}, project{}, group{}, name{}, host{};  // empty: omitted
  std::vector<std::string> tags{};
  WandbItems config{};
  i64 starting_step = 0;
  double started = 0;  // seconds since 1970
};

class WandbFile {
 public:
  // Creates the file and writes its header. UnwritablePlace if that fails.
  explicit WandbFile(const std::filesystem::path& path);
  void run(const WandbRun& run);
  void history(i64 step, const WandbItems& items);
  void summary(const WandbItems& items);
  void exit(int code, i64 runtime_seconds);
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void begin();
  void add(std::string_view fields);  // body of a record, without its number
  void add_here(std::string_view fields);

  AppendFile file_;
  std::string run_;  // body of the run's record, which each file needs
  i64 size_ = 0, records_ = 0;
};

}  // namespace megalith
