#include "base/parse_count.h"

#include <gtest/gtest.h>

namespace megalith {

TEST(ParseCount, takes_whole_texts_only) {
  EXPECT_EQ(parse_count("0"), 0);
  EXPECT_EQ(parse_count("0000010"), 10);
  EXPECT_EQ(parse_count("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "ten", "9223372036854775808"})
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
}

}  // namespace megalith
