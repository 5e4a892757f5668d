#include "train/save_requests.h"

#include <gtest/gtest.h>

namespace megalith {
namespace {

constexpr double kSecond = 1.0 / 60;

TEST(SaveRequests, CountOnceWhereAllAreTold) {
  SaveRequests r;
  EXPECT_FALSE(r.anew({0, 0, 0}, 1));
  EXPECT_TRUE(r.anew({1, 0, 0}, 2));
  EXPECT_FALSE(r.anew({1, 0, 1}, 2 + kSecond));
  EXPECT_FALSE(r.anew({1, 1, 1}, 2 + 2 * kSecond));
  EXPECT_FALSE(r.anew({1, 1, 1}, 3));
  EXPECT_TRUE(r.anew({2, 2, 1}, 3 + kSecond));
  EXPECT_FALSE(r.anew({2, 2, 2}, 3 + 2 * kSecond));
  EXPECT_TRUE(r.anew({3, 2, 2}, 4));  // steps may take longer than the polling interval
  EXPECT_FALSE(r.anew({3, 3, 3}, 4 + 10 * kSecond));
}

// Each signal to one rank is a request, on any rank.
TEST(SaveRequests, CountWhereOneAfterAnotherIsTold) {
  SaveRequests r;
  EXPECT_TRUE(r.anew({1, 0}, 1));
  EXPECT_FALSE(r.anew({1, 0}, 1.5));
  EXPECT_TRUE(r.anew({1, 1}, 2));
  EXPECT_FALSE(r.anew({1, 1}, 3));
  EXPECT_TRUE(r.anew({2, 1}, 4));
  EXPECT_TRUE(r.anew({3, 1}, 4 + kSecond));
}

}  // namespace
}  // namespace megalith
