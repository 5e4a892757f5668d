// Copies a snapshot over several connections to another node's agent. The copy must be complete, or hold none.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "launch/slot_server.h"
#include "resume/snapshot_slot.h"

namespace megalith::launch {
namespace {

constexpr size_t kElements = 5'000'001;  // of 20 MB: five parts of a transfer

class SnapshotCopy : public testing::Test {
 protected:
  void SetUp() override {
    std::iota(values_.begin(), values_.end(), 0.f);
    write_snapshot(own(), {7, 56, "{}", "{}"},
                   std::vector<SaveTensor>{{"x", {i64(kElements)}, DType::f32, values_.data()}});
    file_ = SlotLink(place()).copies_of(5);
  }
  int own() const { return memory_.file(0); }
  int copy() const { return memory_.file(file_); }
  SlotServerPlace place() const { return SlotServerPlace::of_own(server_.key()); }
  std::vector<SlotLink> links(int n) const {
    std::vector<SlotLink> all;
    for (int i = 0; i < n; ++i) all.emplace_back(place());
    return all;
  }

  std::vector<float> values_ = std::vector<float>(kElements);
  SnapshotMemory memory_{1, 1};
  SlotServer server_{"127.0.0.1", memory_};
  int file_ = -1;
};

TEST_F(SnapshotCopy, IsCompleteOverAnyNumberOfConnections) {
  for (const int n : {1, 3, 8}) {
    ASSERT_EQ(ftruncate(copy(), 0), 0);
    std::vector<SlotLink> to = links(n);
    copy_snapshot(own(), to, file_);
    const auto s = read_snapshot(copy());
    ASSERT_TRUE(s.has_value()) << n;
    check_snapshot(*s);
    EXPECT_EQ(s->account.manifest.iteration, 7);
    const SnapshotView whole(own());
    EXPECT_TRUE(std::ranges::equal(s->view->bytes(), whole.bytes())) << n;
  }
}

TEST_F(SnapshotCopy, HoldsNoneIfAConnectionBreaks) {
  const Listener other = listen_at("127.0.0.1", 0);
  SlotServerPlace broken = place();
  broken.key.port = other.port;
  std::vector<SlotLink> all = links(2);
  copy_snapshot(own(), all, file_);
  ASSERT_TRUE(read_snapshot(copy()).has_value());
  all.emplace_back(broken);
  while (!other.accept()) continue;  // the socket closes
  EXPECT_THROW(copy_snapshot(own(), all, file_), Error);
  EXPECT_FALSE(read_snapshot(copy()).has_value());
}

}  // namespace
}  // namespace megalith::launch
