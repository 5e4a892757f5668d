// What a rank writes on one of its streams: to the console, to its log file, or both; and its last line.
#pragma once
#include <string>

#include "comm/socket.h"

namespace megalith::launch {

struct OutputWays {
  bool to_console = true;
  std::string prefix{};  // of each line on the console
  std::string file{};    // empty: none
};

class RankOutput {
 public:
  RankOutput(int console_fd, OutputWays ways);

  bool read(int fd);  // what has come; false: no more will
  void finish();      // what is not ended by a newline is a line as well
  const std::string& last_line() const { return last_line_; }

 private:
  void take(const char* data, size_t bytes);
  void say(const std::string& line);

  const int console_fd_;
  const OutputWays ways_;
  Socket file_;
  std::string rest_, last_line_;
};

}  // namespace megalith::launch
