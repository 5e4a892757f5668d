// Transport of a run of one rank: it receives its own messages, and starts nothing.
#include "base/check.h"
#include "comm/join.h"
#include "comm/own_pieces.h"

namespace megalith {
namespace {

class Alone final : public Ranks {
 public:
  explicit Alone(const Place& place) : place_(place) {}

  const Place& place() const override { return place_; }
  std::vector<std::string> all_gather(const std::string& mine) override { return {mine}; }
  std::vector<std::string> gather(const std::string& mine) override { return {mine}; }

  int exchange(int, std::span<const Piece> sends, std::span<const Piece> receives) override {
    pieces_of_others(place_, sends);
    pieces_of_others(place_, receives);
    copy_own_pieces(0, sends, receives);
    return 0;
  }
  void wait(int) override {}
  void doing(const std::string*) override {}

 private:
  Place place_;
};

}  // namespace

std::unique_ptr<Ranks> make_alone(const Place& place) { return std::make_unique<Alone>(place); }

}  // namespace megalith
