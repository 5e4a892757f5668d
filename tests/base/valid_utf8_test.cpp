#include "base/valid_utf8.h"

#include <gtest/gtest.h>

namespace megalith {
namespace {

TEST(ValidUtf8, keeps_text_and_replaces_other_bytes) {
  for (const char* text : {"", "/data/run 1", "caf\u00e9\n\"\\", "\u6771\u4eac", "\U0001F600"})
    EXPECT_EQ(valid_utf8(text), text);
  EXPECT_EQ(valid_utf8("caf\xe9"), "caf\ufffd");
  EXPECT_EQ(valid_utf8("\xff/\xc3("), "\ufffd/\ufffd(");
  EXPECT_EQ(valid_utf8(valid_utf8("a\xf0\x9f")), valid_utf8("a\xf0\x9f"));
}

}  // namespace
}  // namespace megalith
