#include "base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace megalith {
namespace {

TEST(JsonDepth, IsOfBracketsOutsideStrings) {
  const auto nested = [](int n) { return std::string(std::size_t(n), '[') + std::string(std::size_t(n), ']'); };
  EXPECT_FALSE(is_nested_too_deep(""));
  EXPECT_FALSE(is_nested_too_deep(nested(kMaxJsonDepth)));
  EXPECT_TRUE(is_nested_too_deep(nested(kMaxJsonDepth + 1)));
  EXPECT_TRUE(is_nested_too_deep("{\"a\": " + nested(kMaxJsonDepth) + "}"));
  EXPECT_FALSE(is_nested_too_deep("[\"" + std::string(1000, '[') + "\"]"));
  EXPECT_FALSE(is_nested_too_deep("[\"\\\"" + std::string(1000, '{') + "\"]"));  // behind \" it is still the string
  std::string many = "[";
  for (int i = 0; i < 1000; ++i) many += "[{}],";
  EXPECT_FALSE(is_nested_too_deep(many + "0]"));
}

}  // namespace
}  // namespace megalith
