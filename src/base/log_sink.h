// Messages that go to a program which embeds this library, instead of to the process's own output.
#pragma once
#include <functional>
#include <string_view>

namespace megalith::log {

enum class SinkLevel { output, info, warning };
using Sink = std::function<void(SinkLevel, std::string_view)>;

// While it lives, this thread's messages go only to the sink. If the sink is empty they are dropped.
class SinkScope {
 public:
  explicit SinkScope(const Sink& sink);
  ~SinkScope();
  SinkScope(const SinkScope&) = delete;
  SinkScope& operator=(const SinkScope&) = delete;

 private:
  const Sink* before_;
};

}  // namespace megalith::log
