// A TensorBoard event file. One rank writes. A restarted run opens a new file in the same folder. Events are buffered
// until flush() (once per logging interval) or until there are many.
#pragma once
#include <functional>
#include <string>

#include "base/append_file.h"
#include "base/clock.h"
#include "observe/sinks/tfevents.h"

namespace megalith {

// Parts of the file name, events.out.tfevents.SECONDS.HOST.PID.N, and of the events.
struct TensorBoardOrigin {
  std::string hostname;
  i64 pid = 0;
  std::function<double()> now = unix_seconds;
};
TensorBoardOrigin this_process();

class TensorBoardWriter {
 public:
  // Creates the folder and the file. UnwritablePlace if that fails.
  explicit TensorBoardWriter(const std::filesystem::path& folder, const TensorBoardOrigin& origin = this_process())
      : TensorBoardWriter(folder, origin, origin.now()) {}
  ~TensorBoardWriter() { flush(); }

  void scalar(std::string_view tag, double value, i64 step);  // stored as float
  void text(std::string_view name, std::string_view text, i64 step);
  void histogram(std::string_view tag, const tfevents::Histogram& histogram, i64 step);
  void flush();
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  TensorBoardWriter(const std::filesystem::path& folder, const TensorBoardOrigin& origin, double started);
  void add(std::string_view event);
  std::filesystem::path free_path(double started) const;

  std::filesystem::path folder_;
  TensorBoardOrigin origin_;
  AppendFile file_;
  std::string waiting_;
};

}  // namespace megalith
