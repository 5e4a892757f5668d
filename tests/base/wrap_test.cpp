#include "base/wrap.h"

#include <gtest/gtest.h>

namespace megalith {

TEST(WrapMarkdown, breaks_long_lines_at_spaces) {
  EXPECT_EQ(wrap_markdown("one two three\n\nfour\n", 8), "one two\nthree\n\nfour\n");
  EXPECT_EQ(wrap_markdown("12345678 12345678", 8), "12345678\n12345678");
  EXPECT_EQ(wrap_markdown("a 123456789 b", 8), "a\n123456789\nb");  // a word longer than a line
  EXPECT_EQ(wrap_markdown("", 8), "");
}

TEST(WrapMarkdown, indents_items) {
  EXPECT_EQ(wrap_markdown("- one two three\n  - four five\n", 9), "- one two\n  three\n  - four\n    five\n");
}

TEST(WrapMarkdown, leaves_code_whole_and_makes_no_marks) {
  EXPECT_EQ(wrap_markdown("see `--size N` here", 8), "see\n`--size N`\nhere");
  EXPECT_EQ(wrap_markdown("four a + b", 6), "four\na + b");
  EXPECT_EQ(wrap_markdown("up to 12. or # one", 6), "up\nto 12.\nor #\none");
}

}  // namespace megalith
