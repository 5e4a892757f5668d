// Messages between a rank's main thread and its watch thread. Each rank has one mailbox.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>

#include "base/dtype.h"
#include "comm/socket.h"

namespace megalith {

class WatchMailbox {
 public:
  enum class Wish { none, farewell, failed };

  WatchMailbox();

  // The main thread's side.
  void doing(const std::string* what);
  bool ask(Wish wish, const std::string& error = {});  // until it is settled; returns the argument of settle()

  void wake();

  // For the watch thread. This rank's activity, short and in one line.
  std::string said(const char* otherwise = "") const;
  u64 words() const;  // counts the main thread's reports of its activity
  Wish wish() const;
  std::string error() const;
  void settle(bool ok);
  int wake_fd() const { return wake_.fd(); }  // readable when there is word
  void clear_wake() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string doing_;  // a copy: an error's unwinding may free the text while the watch reads it
  u64 words_ = 0;
  Wish wish_ = Wish::none;
  std::string error_;
  bool is_settled_ = false, ok_ = false;
  Socket wake_;
};

std::string one_line(std::string_view text, size_t longest);  // without control characters

}  // namespace megalith
