// A TensorBoard event file. One rank writes; a restarted run opens a new file in the same folder. Events wait in memory
// until flush() (once per logging interval) or until there are many.
#pragma once
#include <functional>
#include <string>

#include "base/append_file.h"
#include "observe/sinks/tfevents.h"

namespace megalith {

double unix_seconds();  // the wall clock, seconds since 1970

// What goes into the name of the file, events.out.tfevents.SECONDS.HOST.PID.N, and into the events.
struct TensorBoardOrigin {
  std::string hostname;
  i64 pid = 0;
  std::function<double()> now = unix_seconds;
};
TensorBoardOrigin this_process();

class TensorBoardWriter {
 public:
  // Makes the folder and the file in it. Error if it cannot.
  explicit TensorBoardWriter(const std::filesystem::path& folder, const TensorBoardOrigin& origin = this_process())
      : TensorBoardWriter(folder, origin, origin.now()) {}
  ~TensorBoardWriter() { flush(); }

  void scalar(std::string_view tag, double value, i64 step);  // kept as float
  void text(std::string_view name, std::string_view text, i64 step);
  void histogram(std::string_view tag, const tfevents::Histogram& histogram, i64 step);
  void flush();
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  TensorBoardWriter(const std::filesystem::path& folder, const TensorBoardOrigin& origin, double started);
  void add(std::string_view event);

  std::function<double()> now_;
  AppendFile file_;
  std::string waiting_;
};

}  // namespace megalith
