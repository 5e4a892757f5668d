#include "observe/last_values.h"

#include <gtest/gtest.h>

namespace megalith {
namespace {

TEST(LastValues, TellOfTheLastOnesOnly) {
  LastValues values(4);
  EXPECT_EQ(values.median(), 0);
  EXPECT_EQ(values.deviation(), 0);
  values.add(7);
  EXPECT_EQ(values.deviation(), 0);
  for (const double v : {1000.0, 2.0, 4.0, 4.0, 6.0}) values.add(v);
  EXPECT_EQ(values.size(), 4u);
  EXPECT_EQ(values.median(), 4);
  EXPECT_DOUBLE_EQ(values.deviation(), std::sqrt(8.0 / 3));
}

}  // namespace
}  // namespace megalith
