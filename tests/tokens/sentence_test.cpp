#include "tokens/sentence_splitter.h"

#include "tests/tokens/helpers.h"

namespace megalith {

namespace {

using Sentences = std::vector<std::string_view>;

Sentences sentences(std::string_view text, bool keep_space = false) {
  Sentences out;
  SentenceSplitter(keep_space).split(text, out);
  return out;
}

}  // namespace

TEST(Sentences, end_at_marks_before_white_space) {
  EXPECT_EQ(sentences("One is here. Two? Three!\nFour... Five"),
            (Sentences{"One is here.", "Two?", "Three!", "Four...", "Five"}));
  EXPECT_EQ(sentences("It costs 3.50 at example.com today. Yes."),
            (Sentences{"It costs 3.50 at example.com today.", "Yes."}));
  EXPECT_EQ(sentences("She said \"Stop.\" He did (twice.) \u201CWhy?\u201D Nobody knows."),
            (Sentences{"She said \"Stop.\"", "He did (twice.)", "\u201CWhy?\u201D", "Nobody knows."}));
  EXPECT_EQ(sentences("\"What?\" he asked. wait... no"), (Sentences{"\"What?\" he asked. wait... no"}));
}

TEST(Sentences, abbreviations_do_not_end_them) {
  EXPECT_EQ(sentences("Dr. No met Mr. J. R. Smith at St. Ives, e.g. Monday. He left."),
            (Sentences{"Dr. No met Mr. J. R. Smith at St. Ives, e.g. Monday.", "He left."}));
  EXPECT_EQ(sentences("See Fig. 3 and No. 7. I said no. 8 is wrong."),
            (Sentences{"See Fig. 3 and No. 7.", "I said no. 8 is wrong."}));
  EXPECT_EQ(sentences("He works at Acme Inc. The firm is in the U.S. Congress met at 5 p.m. It ended."),
            (Sentences{"He works at Acme Inc.", "The firm is in the U.S. Congress met at 5 p.m.", "It ended."}));
  EXPECT_EQ(sentences("1. Introduction. So do I. They came."),
            (Sentences{"1. Introduction.", "So do I.", "They came."}));
}

TEST(Sentences, of_other_scripts) {
  EXPECT_EQ(sentences("\u4F60\u597D\u3002\u300C\u597D\uFF01\u300D\u662F\uFF1F"),
            (Sentences{"\u4F60\u597D\u3002", "\u300C\u597D\uFF01\u300D", "\u662F\uFF1F"}));
  EXPECT_EQ(sentences("\u041E\u043D. \u042F. \u0430"), (Sentences{"\u041E\u043D.", "\u042F. \u0430"}));
}

TEST(Sentences, without_text_there_are_none) {
  EXPECT_EQ(sentences(""), Sentences{});
  EXPECT_EQ(sentences(" \n\u3000"), Sentences{});
  EXPECT_EQ(sentences(" a. \n"), Sentences{"a."});
  EXPECT_EQ(sentences(" a \u00A0"), Sentences{"a"});
}

TEST(Sentences, with_their_space_they_are_the_text) {
  std::mt19937 random(3);
  const std::string_view parts[] = {".", "!",  "?", " ", "\n",     "A",      "b",    "Dr",
                                    "3", "\"", "(", ")", "\u3002", "\u2003", "\xFF", "\xE3"};
  for (int run = 0; run < 20000; ++run) {
    std::string text, together, dropped, kept;
    for (u32 n = random() % 12; n > 0; --n) text += parts[random() % std::size(parts)];
    for (std::string_view s : sentences(text, true)) together += s;
    EXPECT_EQ(together, text);
    for (std::string_view s : sentences(text)) {
      dropped += s;
      EXPECT_FALSE(s.empty());
      EXPECT_FALSE(s.ends_with(' ') || s.ends_with('\n') || s.starts_with(' ') || s.ends_with("\u2003")) << text;
    }
    for (std::string* all : {&dropped, &text}) {
      kept.clear();
      for (size_t i = 0; i < all->size(); ++i) {
        if (all->compare(i, 3, "\u2003") == 0)
          i += 2;
        else if ((*all)[i] != ' ' && (*all)[i] != '\n')
          kept += (*all)[i];
      }
      *all = kept;
    }
    EXPECT_EQ(dropped, text);
  }
}

}  // namespace megalith
