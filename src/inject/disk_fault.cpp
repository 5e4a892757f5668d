// The first save behind an iteration finds a full, a broken or a slow disk. Only this rank's part of it is affected.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/check.h"
#include "inject/planted.h"

namespace megalith {

namespace {

class DiskFault final : public PlantedFault {
 public:
  explicit DiskFault(const Fault& fault) : fault_(fault) {
    check(!fault.arguments.empty(), "--inject {}: say how: full, eio or slow", fault.text);
    const std::string& how = fault.arguments[0];
    check(how == "full" || how == "eio" || how == "slow", "--inject {}: there is no {}: want full, eio or slow",
          fault.text, how);
    error_ = how == "full" ? ENOSPC : how == "eio" ? EIO : 0;
    constexpr std::string_view kKeys[] = {"seconds"};
    fault.check_arguments(1, kKeys);
    check(error_ == 0 || fault.arguments.size() == 1, "--inject {}: only a slow disk has seconds: leave them out",
          fault.text);
    seconds_ = fault.number("seconds", 3);
  }
  void step_begins(i64 iteration) override { has_begun_ = iteration >= fault_.iteration; }
  int save_step(std::string_view kind) override {
    if (kind != "write" || !has_begun_ || has_struck_.exchange(true)) return 0;
    if (error_ == 0) std::this_thread::sleep_for(std::chrono::seconds(seconds_));
    return error_;
  }

 private:
  Fault fault_;
  int error_ = 0;
  i64 seconds_ = 0;
  std::atomic<bool> has_begun_ = false, has_struck_ = false;
};

}  // namespace

std::unique_ptr<PlantedFault> make_disk_fault(const Fault& fault, const FaultSite&) {
  return std::make_unique<DiskFault>(fault);
}

}  // namespace megalith
