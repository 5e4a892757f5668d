#include "train/data_use.h"

#include <gtest/gtest.h>

namespace megalith {

TEST(DataUse, ListsTheMostReadFirst) {
  EXPECT_EQ(
      data_use_line({{"a", 3, 0.25}, {"b", 50, 1.5}, {"c", 0, 0}}, 53),
      " data read after 53 samples: b 1.5 epochs (50 samples), a 0.25 epochs (3 samples), c 0 epochs (0 samples)");
  std::vector<DatasetUse> many(23, {"d", 1, 0.5});
  many[22] = {"last", 7, 2};
  const std::string line = data_use_line(many, 29);
  EXPECT_TRUE(line.starts_with(" data read after 29 samples: last 2 epochs (7 samples), d 0.5"));
  EXPECT_TRUE(line.ends_with(", and 3 more"));
}

TEST(DataUse, NoticesOtherDataThanTheCheckpoints) {
  const std::vector<DatasetUse> saved = {{"a", 3, 0.25}, {"b", 50, 1.5}};
  EXPECT_EQ(changed_data(saved, saved), "");
  EXPECT_EQ(changed_data({}, saved), "");  // saved by an older program
  EXPECT_EQ(changed_data(saved, {}), "");  // the data are not read in order
  const auto says = [&](std::vector<DatasetUse> now, const char* text) {
    EXPECT_NE(changed_data(saved, now).find(text), std::string::npos) << changed_data(saved, now);
  };
  says({{"a", 3, 0.25}, {"b", 49, 1.4}}, "has read 50 samples of b as its dataset 2");
  says({{"a", 3, 0.25}, {"c", 50, 1.5}}, "begin after 50 samples of c");
  says({{"a", 3, 0.25}}, "begin after nothing");
  says({{"a", 3, 0.25}, {"b", 50, 1.4}},
       "the checkpoint has read 50 samples of b: 1.5 epochs of it then, 1.4 epochs now");
  says({{"a", 3, 0.25}, {"b", 50, 1.5}, {"c", 1, 1}}, "has read nothing as its dataset 3");
}

}  // namespace megalith
