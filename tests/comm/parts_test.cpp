// What needs one process only.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/check.h"
#include "comm/connection.h"
#include "comm/gather.h"
#include "comm/join.h"
#include "comm/member.h"
#include "comm/watch.h"
#include "comm/watch_mailbox.h"

namespace megalith {
namespace {

TEST(Alone, GathersItsOwnTextAndExchangesWithItself) {
  const auto ranks = join(Place{});
  EXPECT_EQ(ranks->all_gather("x"), std::vector<std::string>{"x"});
  EXPECT_EQ(ranks->gather("x"), std::vector<std::string>{"x"});
  const std::string text = "being tested";
  ranks->doing(&text);
  std::string from = "abcdef", to = "------";
  const Piece sends[] = {{0, from.data(), 2}, {0, from.data() + 2, 0}, {0, from.data() + 2, 4}};
  const Piece receives[] = {{0, to.data() + 4, 2}, {0, nullptr, 0}, {0, to.data(), 4}};
  ranks->wait(ranks->exchange(3, sends, receives));
  EXPECT_EQ(to, "cdefab");
  EXPECT_FALSE(ranks->failed("x"));
}

TEST(Alone, WhateverTheLauncher) {
  EXPECT_EQ(join(Place{.launcher = "mpirun"})->size(), 1);
  EXPECT_EQ(join(Place{.launcher = "environment"})->size(), 1);
}

TEST(Alone, WrongExchanges) {
  const auto ranks = join(Place{});
  char bytes[4] = {};
  const std::vector<Piece> two = {{0, bytes, 2}}, three = {{0, bytes, 3}}, none, other = {{1, bytes, 2}},
                           negative = {{0, bytes, -1}};
  EXPECT_THROW(ranks->exchange(0, two, none), Error);
  EXPECT_THROW(ranks->exchange(0, none, two), Error);
  EXPECT_THROW(ranks->exchange(0, two, three), Error);
  EXPECT_THROW(ranks->exchange(0, other, none), Error);
  EXPECT_THROW(ranks->exchange(0, none, other), Error);
  EXPECT_THROW(ranks->exchange(0, negative, negative), Error);
}

struct Pair {
  Pair() {
    int fds[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0, "no sockets");
    a.emplace(Socket(fds[0]), 1 << 24);
    b.emplace(Socket(fds[1]), 1 << 24);
  }
  std::optional<Connection> a, b;
};

TEST(Connection, FramesOfAllLengths) {
  Pair pair;
  for (const size_t length : {0, 1, 3, 4, 5, 1000, 3000000}) {
    const std::string sent(length, char('a' + length % 26));
    pair.a->send(sent);
    pair.a->send("next");
    std::vector<std::string> got;
    while (got.size() < 2) {
      pair.a->flush();
      if (auto f = pair.b->next()) got.push_back(*f);
    }
    EXPECT_EQ(got[0], sent);
    EXPECT_EQ(got[1], "next");
    EXPECT_TRUE(pair.a->is_flushed());
  }
}

TEST(Connection, FramesBeforeTheEndStillCome) {
  Pair pair;
  pair.a->send("last");
  pair.a.reset();
  EXPECT_EQ(pair.b->next(), "last");
  EXPECT_EQ(pair.b->next(), std::nullopt);
  EXPECT_TRUE(pair.b->is_closed());
  pair.b->send("nobody reads this");
  EXPECT_TRUE(pair.b->is_flushed());
}

TEST(Connection, TooLongAFrameClosesIt) {
  Pair pair;
  pair.b->allow(10);
  pair.a->send("0123456789");
  EXPECT_EQ(pair.b->next(), "0123456789");
  pair.a->send("0123456789a");
  EXPECT_EQ(pair.b->next(), std::nullopt);
  EXPECT_TRUE(pair.b->is_closed());
}

TEST(ListRanks, ReadsWell) {
  EXPECT_EQ(list_ranks({3}), "rank 3");
  EXPECT_EQ(list_ranks({3, 4}), "ranks 3 and 4");
  EXPECT_EQ(list_ranks({1, 3, 5}), "ranks 1, 3 and 5");
  std::vector<int> many;
  for (int r = 0; r < 1000; ++r) many.push_back(r);
  EXPECT_EQ(list_ranks(many), "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 984 more");
}

TEST(Member, IsReadBack) {
  const Member self = Member::self(7), read = Member::from_text(self.text());
  EXPECT_EQ(read.rank, 7);
  EXPECT_EQ(read.pid, getpid());
  EXPECT_EQ(read.text(), self.text());
  EXPECT_THROW(Member::from_text("7 x"), Error);
}

TEST(WatchMailbox, SaysWhatItIsAtInOneLine) {
  WatchMailbox mailbox;
  EXPECT_EQ(mailbox.said("nothing"), "nothing");
  {
    const std::string what = "step 3\nof \x1b[31mred";
    mailbox.doing(&what);
  }
  EXPECT_EQ(mailbox.said("nothing"), "step 3 of  [31mred");
  const std::string longer(5000, 'x');
  mailbox.doing(&longer);
  EXPECT_EQ(mailbox.said().size(), 300u);
  mailbox.doing(nullptr);
  EXPECT_EQ(mailbox.said("nothing"), "nothing");
}

TEST(OwnClock, DoesNotCountWhatItDidNotSee) {
  OwnClock clock;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_GE(clock.advance(), 0.049);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  EXPECT_LT(clock.advance(), 0.7);
}

}  // namespace
}  // namespace megalith
