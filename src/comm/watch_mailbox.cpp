#include "comm/watch_mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"

namespace megalith {

WatchMailbox::WatchMailbox() : wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  check(bool(wake_), "too many open files: raise ulimit -n");
}

void WatchMailbox::doing(const std::string* what) {
  const std::lock_guard lock(mutex_);
  ++words_;
  if (what)
    doing_ = *what;  // into memory that it has
  else
    doing_.clear();
}

bool WatchMailbox::ask(Wish wish, const std::string& error) {
  std::unique_lock lock(mutex_);
  wish_ = wish;
  error_ = error;
  wake();
  changed_.wait(lock, [&] { return is_settled_; });
  return ok_;
}

void WatchMailbox::wake() {
  const u64 one = 1;
  if (write(wake_.fd(), &one, sizeof one) < 0) return;  // a full counter: it is awake
}

std::string WatchMailbox::said(const char* otherwise) const {
  const std::lock_guard lock(mutex_);
  return one_line(doing_.empty() ? otherwise : doing_, 300);
}

u64 WatchMailbox::words() const {
  const std::lock_guard lock(mutex_);
  return words_;
}

WatchMailbox::Wish WatchMailbox::wish() const {
  const std::lock_guard lock(mutex_);
  return wish_;
}

std::string WatchMailbox::error() const {
  const std::lock_guard lock(mutex_);
  return one_line(error_, 2000);
}

void WatchMailbox::settle(bool ok) {
  const std::lock_guard lock(mutex_);
  is_settled_ = true;
  ok_ = ok;
  changed_.notify_all();
}

void WatchMailbox::clear_wake() const {
  u64 count = 0;
  while (read(wake_.fd(), &count, sizeof count) > 0) continue;
}

std::string one_line(std::string_view text, size_t longest) {
  std::string line(text.substr(0, longest));
  for (char& c : line)
    if (u8(c) < 32 || c == 127) c = ' ';
  return line;
}

}  // namespace megalith
