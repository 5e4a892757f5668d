// One output stream of a rank: it goes to the console, to a log file, or to both. The last line is kept.
#pragma once
#include <string>

#include "comm/socket.h"

namespace megalith::launch {

struct OutputWays {
  bool to_console = true;
  std::string prefix{};  // before each line on the console
  std::string file{};    // empty: none
};

class RankOutput {
 public:
  RankOutput(int console_fd, OutputWays ways);

  bool read(int fd);  // reads available output; false: the stream has ended
  void finish();      // an unfinished last line counts as a line
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
