// Consecutive ranks that run as a separate job.
#pragma once
#include "comm/ranks.h"

namespace megalith::parity {

class Part final : public Ranks {
 public:
  // The ranks [first, first + size) of `all`. This process must be one of them.
  Part(Ranks& all, int first, int size);

  const Place& place() const override { return place_; }
  std::vector<std::string> all_gather(const std::string& mine) override;
  std::vector<std::string> gather(const std::string& mine) override;
  int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) override;
  void wait(int ticket) override { all_.wait(ticket); }
  void doing(const std::string* what) override { all_.doing(what); }

 private:
  Ranks& all_;
  int first_;
  Place place_;
};

}  // namespace megalith::parity
