#include "config/show.h"

#include <gtest/gtest.h>

#include "sample.h"

namespace megalith::config {
namespace {

TEST(Show, HelpAndPageMentionEverySpelling) {
  Sample sample;
  const FieldList fields = fields_of(sample);
  const std::string help = help_text(fields), page = help_markdown(fields);
  for (const Field& field : fields.all()) {
    EXPECT_NE(help.find(field.help), std::string::npos) << field.help;
    EXPECT_NE(page.find(field.help), std::string::npos) << field.help;
    for (const Spelling& spelling : field.spellings) {
      EXPECT_NE(help.find("  " + spelling.flag), std::string::npos) << spelling.flag;
      EXPECT_NE(page.find("`" + spelling.flag), std::string::npos) << spelling.flag;
    }
  }
  EXPECT_NE(help.find("  --num-layers N                  Layers of the sample. [12]\n"), std::string::npos) << help;
  EXPECT_NE(help.find("--colour {red,green,blue}"), std::string::npos) << help;
  EXPECT_NE(help.find("--window-size W,0"), std::string::npos) << help;
  EXPECT_NE(page.find("## Sizes\n\n- `--num-layers N`: Layers of the sample. [12]\n"), std::string::npos) << page;
}

TEST(Show, LongHelpIsWrapped) {
  i64 x = 0;
  FieldList fields;
  std::string words;
  for (int i = 0; i < 40; ++i) words += "word ";
  fields.add("x", x, words + std::string(200, 'y'));
  const std::string help = help_text(fields);
  EXPECT_LE(help.find('\n', 2), 121u);
  EXPECT_NE(help.find(std::string(200, 'y')), std::string::npos);
}

TEST(Show, ArgumentsInMegatronsForm) {
  Sample sample;
  sample.save = "out";
  sample.data_path = {"a", "b"};
  const std::string text = arguments_text(fields_of(sample));
  EXPECT_TRUE(text.starts_with("------------------------ arguments ------------------------\n  bf16 ")) << text;
  EXPECT_TRUE(text.ends_with("\n-------------------- end of arguments ---------------------")) << text;
  EXPECT_NE(text.find("  bf16 ............................................ False\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  data_path ....................................... ['a', 'b']\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" None\n"), std::string::npos) << text;
  EXPECT_LT(text.find("check_nan"), text.find("num_layers"));
}

}  // namespace
}  // namespace megalith::config
