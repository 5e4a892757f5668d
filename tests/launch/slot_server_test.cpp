// Tests the server that gives other nodes access to the snapshots in an agent's memory: reads, writes and refusals.
#include "launch/slot_server.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/check.h"
#include "comm/slot_client.h"

namespace megalith::launch {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

class SlotServers : public testing::Test {
 protected:
  SlotServerPlace place() const { return SlotServerPlace::of_own(server.key()); }
  // A connection after the handshake of a rank.
  Socket greeted(const std::string& token) const {
    std::string why;
    Socket s = connect_to("127.0.0.1", server.key().port, 5, why);
    EXPECT_TRUE(bool(s)) << why;
    EXPECT_TRUE(send_all(s, std::as_bytes(std::span(token)), 5));
    return s;
  }
  static bool answers(const Socket& s, u32 kind, i64 at = 0, i64 bytes = 0) {
    const SlotRequest request{.kind = kind, .file = 0, .at = at, .bytes = bytes, .sum = 0};
    SlotAnswer answer;
    return send_all(s, std::as_bytes(std::span(&request, 1)), 5) &&
           receive_all(s, std::as_writable_bytes(std::span(&answer, 1)), 5);
  }

  SnapshotMemory memory{1, 2};
  SlotServer server{"127.0.0.1", memory};
};

TEST_F(SlotServers, CopiesComeBackAsTheyWere) {
  SlotLink link(place());
  const int file = link.copies_of(5);
  EXPECT_EQ(file, 2 * kSnapshotSlots);  // after the slots of the node's own ranks
  EXPECT_EQ(link.copies_of(5), file);
  EXPECT_EQ(link.copies_of(6), file + kSnapshotSlots);
  std::vector<std::byte> large(size_t(kMostSlotBytes) + 12345);
  for (size_t i = 0; i < large.size(); ++i) large[i] = std::byte(i * 7 % 251);
  link.write(file + 1, 64, large);
  std::vector<std::byte> back(large.size());
  FarSlot(place(), file + 1).read(64, back);
  EXPECT_TRUE(back == large);
  EXPECT_EQ(memory.lent().copies.size(), size_t(2 * kSnapshotSlots));
}

TEST_F(SlotServers, RefusesWhatIsNotThere) {
  SlotLink link(place());
  std::vector<std::byte> out(16);
  EXPECT_THROW(link.read(99, 0, out), Error);
  EXPECT_THROW(link.read(-1, 0, out), Error);
  EXPECT_THROW(link.read(0, 0, out), Error);               // an empty slot
  EXPECT_THROW(link.write(0, 0, bytes_of("own")), Error);  // ranks of other nodes must not write these slots
  const int file = link.copies_of(3);
  link.write(file, 0, bytes_of("0123456789abcdef"));
  EXPECT_THROW(link.read(file, 8, out), Error);  // beyond the end of the slot
  link.read(file, 0, out);
  EXPECT_EQ(std::memcmp(out.data(), "0123456789abcdef", 16), 0);
}

TEST_F(SlotServers, RefusesStrangers) {
  EXPECT_FALSE(answers(greeted(std::string(server.key().token.size(), '0')), SlotRequest::copies_of));
  SlotServerPlace wrong = place();
  wrong.key.token.back() = wrong.key.token.back() == '0' ? '1' : '0';
  EXPECT_THROW(SlotLink(wrong).copies_of(0), Error);
  EXPECT_TRUE(memory.lent().copies.empty());
}

TEST_F(SlotServers, EndsConnectionsThatMakeNoSense) {
  const std::string token = server.key().token;
  EXPECT_TRUE(answers(greeted(token), SlotRequest::copies_of));
  EXPECT_TRUE(answers(greeted(token), 12345));  // the request is refused, and the connection stays open
  EXPECT_FALSE(answers(greeted(token), SlotRequest::read, 0, 1LL << 40));
  EXPECT_FALSE(answers(greeted(token), SlotRequest::read, 0, -1));
  EXPECT_FALSE(answers(greeted(token), SlotRequest::read, -1, 1));
  SlotLink(place()).copies_of(1);  // other clients are still served
}

// The server must not write bytes that changed during the transfer.
TEST_F(SlotServers, ComparesSums) {
  const int file = SlotLink(place()).copies_of(0);
  const Socket s = greeted(server.key().token);
  const SlotRequest request{.kind = SlotRequest::write, .file = file, .at = 0, .bytes = 4, .sum = 1};
  ASSERT_TRUE(send_all(s, std::as_bytes(std::span(&request, 1)), 5) && send_all(s, bytes_of("abcd"), 5));
  SlotAnswer answer;
  answer.bytes = 0;
  ASSERT_TRUE(receive_all(s, std::as_writable_bytes(std::span(&answer, 1)), 5));
  EXPECT_EQ(answer.bytes, -1);
  std::vector<std::byte> out(4);
  EXPECT_THROW(SlotLink(place()).read(file, 0, out), Error);
}

TEST(SnapshotFdsText, IsReadBack) {
  SnapshotFds s{.steps = 5, .replicas = 1, .fds = {7, 8, 9, 10}, .copies = {11, 12}, .server = {4711, "abc"}};
  const auto back = [](const std::string& text) {
    return SnapshotFds::from([&](const char*) -> const char* { return text.c_str(); });
  };
  const SnapshotFds b = back(s.text());
  EXPECT_EQ(b.steps, 5);
  EXPECT_EQ(b.replicas, 1);
  EXPECT_EQ(b.fds, s.fds);
  EXPECT_EQ(b.copies, s.copies);
  EXPECT_EQ(b.server.port, 4711);
  EXPECT_EQ(b.server.token, "abc");
  EXPECT_TRUE(b.is_copy(4) && !b.is_copy(3));
  EXPECT_EQ(b.fd(5), 12);
  s.server = {}, s.copies = {}, s.replicas = 0;
  EXPECT_EQ(back(s.text()).fds, s.fds);
  for (const char* wrong : {"", "x", "5:1", "5:1,x", "5:1,2;1:3;4:t", "5:1,2;1:;x:t", "99999999999:1,2"})
    EXPECT_THROW(back(wrong), Error) << wrong;
}

}  // namespace
}  // namespace megalith::launch
