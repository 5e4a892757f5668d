#include "launch/thread_stacks.h"

#include <fmt/ranges.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace megalith::launch {
namespace {

std::string text_at(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();  // empty if the process has ended
  return text.str();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Whether SIGQUIT is in a mask of /proc/PID/status: SigCgt has the signals with a handler, SigBlk the blocked ones.
bool has_quit(const std::string& status, const std::string& mask) {
  const size_t at = status.find(mask);
  return at != std::string::npos &&
         (std::strtoull(status.c_str() + at + mask.size(), nullptr, 16) >> (SIGQUIT - 1) & 1) != 0;
}

// "PID (NAME) STATE ...", from /proc/PID/task/THREAD/stat.
char state_in(const std::string& stat) {
  const size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < stat.size() ? stat[name_end + 2] : '?';
}

}  // namespace

std::string ThreadStacks::file_of(pid_t thread, const char* name) const {
  return first_line(text_at(fmt::format("/proc/{}/task/{}/{}", process_, thread, name)));
}

void ThreadStacks::ask(pid_t process) {
  process_ = process;
  threads_.clear();
  files_ = MappedFiles(text_at(fmt::format("/proc/{}/maps", process)));
  // Without a handler SIGQUIT would end the process.
  const bool answers = has_quit(text_at(fmt::format("/proc/{}/status", process)), "SigCgt:");
  std::error_code error;  // the process may end during the loop
  for (std::filesystem::directory_iterator it(fmt::format("/proc/{}/task", process), error), end; !error && it != end;
       it.increment(error)) {
    const pid_t thread = pid_t(std::atoi(it->path().filename().c_str()));
    Thread& t = threads_[thread] = {.name = file_of(thread, "comm")};
    const char state = state_in(file_of(thread, "stat"));
    const std::string status = text_at(fmt::format("/proc/{}/task/{}/status", process, thread));
    t.is_asked = answers && !has_quit(status, "SigBlk:") && state != 'T' && state != 't' && state != 'D' &&
                 syscall(SYS_tgkill, process, thread, SIGQUIT) == 0;
  }
}

void ThreadStacks::take(std::string_view text) {
  std::istringstream words{std::string(text)};
  pid_t thread = 0;
  words >> std::hex >> thread;
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return;
  found->second.frames.clear();
  for (u64 frame; words >> frame;) found->second.frames.push_back(frame);
}

bool ThreadStacks::has_all() const {
  bool all = true;
  for (const auto& [id, t] : threads_) all = all && (!t.is_asked || !t.frames.empty());
  return all;
}

void ThreadStacks::read_rest() {
  for (auto& [id, t] : threads_) {
    if (!t.frames.empty()) continue;
    const std::string at = file_of(id, "wchan"), call = file_of(id, "syscall");
    const char state = state_in(file_of(id, "stat"));
    t.rest = fmt::format("no stack; state {}{}{}", state, state == 'T' ? " (stopped)" : "",
                         at.empty() || at == "0" ? "" : ", in the kernel's " + at);
    if (!call.empty() && call != "running") t.rest += ", system call " + call.substr(0, call.find(' '));
  }
}

std::vector<std::string> ThreadStacks::lines(SymbolNames& names) const {
  struct Same {
    std::vector<pid_t> ids;
    const Thread* thread;
  };
  std::vector<Same> groups;
  for (const auto& [id, t] : threads_) {
    Same* same = nullptr;
    for (Same& g : groups)
      if (g.thread->frames == t.frames && g.thread->rest == t.rest && g.thread->name == t.name) same = &g;
    if (same == nullptr) same = &groups.emplace_back(Same{{}, &t});
    same->ids.push_back(id);
  }
  std::vector<std::string> lines;
  for (const Same& g : groups) {
    lines.push_back(fmt::format("thread{} {} ({}){}", g.ids.size() > 1 ? "s" : "", fmt::join(g.ids, ", "),
                                g.thread->name, g.thread->rest.empty() ? "" : ": " + g.thread->rest));
    for (const u64 frame : g.thread->frames) lines.push_back("  " + names.of(frame, files_));
  }
  return lines;
}

}  // namespace megalith::launch
