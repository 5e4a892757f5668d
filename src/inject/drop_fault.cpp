// A rank loses its connections to one other rank, or to all. The processes run on.
#include "base/check.h"
#include "inject/planted.h"

namespace megalith {

namespace {

class DropFault final : public PlantedFault {
 public:
  DropFault(const Fault& fault, const FaultSite& site) : fault_(fault), ranks_(site.ranks) {
    fault.check_arguments(1, {});
    if (!fault.arguments.empty()) peer_ = fault.number_of(fault.arguments[0]);
    check(ranks_.size() > 1 && !ranks_.place().master_address.empty(),
          "--inject {}: only ranks that megalith launch or torchrun's variables start have connections: start them so",
          fault.text);
    check(peer_ < ranks_.size() && peer_ != ranks_.rank(), "--inject {}: {} is not another rank: want one of 0 to {}",
          fault.text, peer_, ranks_.size() - 1);
  }
  void step_begins(i64 iteration) override {
    if (iteration == fault_.iteration) ranks_.drop_connections(int(peer_));
  }

 private:
  Fault fault_;
  Ranks& ranks_;
  i64 peer_ = -1;  // all
};

}  // namespace

std::unique_ptr<PlantedFault> make_drop_fault(const Fault& fault, const FaultSite& site) {
  return std::make_unique<DropFault>(fault, site);
}

}  // namespace megalith
