// JSON as Python's json writes and reads it.
#include "base/python_json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/parse_json.h"

namespace megalith {

using json = nlohmann::json;

TEST(PythonJson, numbers_that_json_lacks_are_read) {
  const json j = parse_json<json>(
      R"({"a": NaN, "b": [Infinity, -Infinity, 1e400, -1e400], "c": 18446744073709551615, "d": 12345678901234567890123, "e": -99999999999999999999, "f": 7, "g": "NaN"})");
  ASSERT_TRUE(j.is_object());
  EXPECT_TRUE(std::isnan(j["a"].get<double>()));
  const double inf = HUGE_VAL;
  EXPECT_EQ(j["b"].get<std::vector<double>>(), (std::vector<double>{inf, -inf, inf, -inf}));
  EXPECT_EQ(j["c"].get<std::uint64_t>(), ~std::uint64_t{0});
  EXPECT_EQ(j["d"].get<double>(), 12345678901234567890123.0);
  EXPECT_EQ(j["e"].get<double>(), -99999999999999999999.0);
  EXPECT_EQ(j["f"].get<int>(), 7);
  EXPECT_EQ(j["g"], "NaN");
}

TEST(PythonJson, halves_of_surrogate_pairs_are_replaced) {
  const json j = parse_json<json>(R"(["\ud83d\ude00 \ud800 \udc00x \\ud800", "\ud800\ud83d\ude00"])");
  ASSERT_TRUE(j.is_array());
  EXPECT_EQ(j[0], "\xF0\x9F\x98\x80 \xEF\xBF\xBD \xEF\xBF\xBDx \\ud800");
  EXPECT_EQ(j[1], "\xEF\xBF\xBD\xF0\x9F\x98\x80");
}

// Each refused by json.loads of Python 3.11 too.
TEST(PythonJson, what_python_refuses_stays_refused) {
  for (const char* text : {"{NaN: 1}",
                           "{Infinity : 1}",
                           "-NaN",
                           "+Infinity",
                           "nan",
                           "Inf",
                           "NaNNaN",
                           "[1NaN]",
                           "01",
                           "[-]",
                           "[1e]",
                           "[1.]",
                           "[.5]",
                           "[NaN",
                           "{\"a\": NaN,}",
                           "\"a\"NaN",
                           "00000000000000000000000001",
                           "[123456789012345678901234567890.]",
                           "['a']",
                           "\"\\ud8\"",
                           ""})
    EXPECT_TRUE(parse_json<json>(text).is_discarded()) << text;
}

TEST(PythonJson, plain_text_stays_as_it_is) {
  for (const char* text :
       {R"({"a": [1, -2.5e3, "NaN \" 1e999 \\", true, null]})", "[9223372036854775807]", "Nope", "I"})
    EXPECT_EQ(plain_json(text), text);
  EXPECT_FALSE(odd_number("NaN"));
  EXPECT_EQ(odd_number(parse_json<json>("\"x\"").get<std::string>()), std::nullopt);
}

}  // namespace megalith
