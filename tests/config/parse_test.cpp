#include "config/parse.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sample.h"

namespace megalith::config {
namespace {

const std::vector<OtherFlag> kParsedOthers = {
    {"--use-flash-attn", true, OtherFlag::Takes::nothing, "it is always on"},
    {"--impl", true, OtherFlag::Takes::one, "there is one"},
    {"--modules", true, OtherFlag::Takes::many, "there are none"},
    {"--fp8-format", false, OtherFlag::Takes::one, "fp8 is not built yet"},
    {.flag = "--fp8-margin",
     .takes = OtherFlag::Takes::one,
     .why = "fp8 is not built yet",
     .only_with = {"--fp8-format"}},
    {.flag = "--experts", .takes = OtherFlag::Takes::one, .why = "experts are not built yet", .neutral = {"0", "None"}},
    {.flag = "--depth", .takes = OtherFlag::Takes::one, .means = {"--bf16", "--num-layers"}},
};

struct Parsed {
  Sample sample;
  ParseResult result;
};

Parsed parsed(std::vector<std::string> words) {
  Parsed p;
  FieldList fields = fields_of(p.sample);
  p.result = parse(fields, words, kParsedOthers);
  return p;
}

// With what is wrong in the result.
ParseResult parsed_all(std::vector<std::string> words) {
  Sample sample;
  FieldList fields = fields_of(sample);
  return parse_all(fields, words, kParsedOthers);
}

std::string parse_refusal(std::vector<std::string> words) {
  return error_of([&] { parsed(words); });
}

TEST(Parse, EveryKind) {
  std::vector<std::string> line = {"--save", "a b"};
  for (const char* more : {"--num-layers 3 --lr=6e-4 --bf16 --no-check-nan --eod 7 --start-decay 0 --colour red",
                           "--skip 1 2 -3 --weights .5 -1e2 --data-path 0.3 x 0.7 y"}) {
    std::istringstream in(more);
    for (std::string word; in >> word;) line.push_back(word);
  }
  const Sample s = parsed(line).sample;
  EXPECT_EQ(s, (Sample{.num_layers = 3,
                       .lr = 6e-4,
                       .bf16 = true,
                       .check_nan = false,
                       .save = "a b",
                       .start_decay = 0.0,
                       .colour = Colour::red,
                       .groups = 0,
                       .window = 0,
                       .skip = {1, 2, -3},
                       .weights = {.5, -100},
                       .data_path = {"0.3", "x", "0.7", "y"},
                       .eod = 7}));
}

TEST(Parse, NothingGivenLeavesDefaults) {
  const Parsed p = parsed({});
  EXPECT_EQ(p.sample, Sample{});
  EXPECT_TRUE(p.result.given.uses.empty());
}

TEST(Parse, AliasesAndLastWins) {
  EXPECT_EQ(parsed({"--layers", "5"}).sample.num_layers, 5);
  EXPECT_EQ(parsed({"--layers", "5", "--num-layers=7"}).sample.num_layers, 7);
  EXPECT_EQ(parsed({"--data-path", "a", "b", "--data-path", "c"}).sample.data_path, std::vector<std::string>{"c"});
  EXPECT_TRUE(parsed({"--no-check-nan", "--check-nan"}).sample.check_nan);
  EXPECT_FALSE(parsed({"--disable-check-nan"}).sample.check_nan);
}

// The last one holds, as with argparse, but it is told: of a list the rest would be lost silently.
TEST(Parse, WarnsOfValuesThatAnotherReplaces) {
  const auto warnings = [](std::vector<std::string> words) { return parsed(std::move(words)).result.warnings; };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(warnings({"--num-layers", "5", "--lr", "1", "--layers", "7"}),
            Lines{"--num-layers 5 and --layers 7 are both given: the last one holds"});
  EXPECT_EQ(warnings({"--data-path", "a", "b", "--data-path", "c", "--data-path", "c"}),
            Lines{"--data-path a b and --data-path c are both given: the last one holds; a list goes behind one flag"});
  EXPECT_EQ(warnings({"--num-layers", "5", "--num-layers", "5", "--bf16"}), Lines{});
  EXPECT_LT(warnings({"--data-path", std::string(300, 'x'), "--data-path", "c"}).at(0).size(), 200u);
}

TEST(Parse, SwitchesWithAValue) {
  EXPECT_FALSE(parsed({"--bf16", "--bf16=false"}).sample.bf16);
  EXPECT_TRUE(parsed({"--bf16=true"}).sample.bf16);
  EXPECT_TRUE(parsed({"--no-check-nan=false"}).sample.check_nan);
  EXPECT_FALSE(parsed({"--no-check-nan=true"}).sample.check_nan);
  EXPECT_EQ(parse_refusal({"--bf16=maybe"}), "--bf16: 'maybe' is neither true nor false");
  EXPECT_EQ(parse_refusal({"--azure=true"}), "--azure takes no value, 'true' is given");
}

TEST(Parse, SwitchesForOneValueOfAnEnum) {
  EXPECT_EQ(parsed({"--azure"}).sample.colour, Colour::blue);
  const auto given = [](std::vector<std::string> words) { return parsed(words).result.given; };
  EXPECT_EQ(given({"--azure", "--crimson"}).contradiction("colour"), "--azure and --crimson");
  EXPECT_EQ(given({"--azure", "--colour", "blue"}).contradiction("colour"), "");
  EXPECT_EQ(given({"--colour", "red", "--colour", "blue"}).contradiction("colour"), "");
  EXPECT_EQ(given({}).contradiction("colour"), "");
  EXPECT_TRUE(given({"--azure"}).has("colour"));
  EXPECT_TRUE(given({"--azure"}).has_flag("--azure"));
  EXPECT_FALSE(given({"--azure"}).has_flag("--crimson"));
}

TEST(Parse, WeakSwitchYieldsToAValueInAnyOrder) {
  EXPECT_EQ(parsed({"--grouped"}).sample.groups, 1);
  EXPECT_EQ(parsed({"--grouped", "--num-groups", "8"}).sample.groups, 8);
  EXPECT_EQ(parsed({"--num-groups", "8", "--grouped"}).sample.groups, 8);
}

TEST(Parse, ConvertedValues) {
  EXPECT_EQ(parsed({"--window-size", "7,0"}).sample.window, 7);
  EXPECT_EQ(parse_refusal({"--window-size", "7,1"}), "--window-size: '7,1' is not of the form W,0");
}

TEST(Parse, UnknownFlagNamesTheNearest) {
  EXPECT_EQ(parse_refusal({"--num-layer", "3"}),
            "unknown flag --num-layer: the nearest known one is --num-layers (--help lists all)");
  EXPECT_EQ(parse_refusal({"--bf-16"}), "unknown flag --bf-16: the nearest known one is --bf16 (--help lists all)");
  // A flag that is refused is no suggestion.
  EXPECT_EQ(parse_refusal({"--fp8-formt", "e4m3"}), "unknown flag --fp8-formt: --help lists all");
  EXPECT_EQ(parse_refusal({"--fp8_format", "e4m3"}), "--fp8_format: fp8 is not built yet");
  EXPECT_EQ(parse_refusal({"--start", "1"}),
            "unknown flag --start: the nearest known one is --start-decay (--help lists all)");
  EXPECT_EQ(parse_refusal({"--LR", "1"}), "unknown flag --LR: the nearest known one is --lr (--help lists all)");
  EXPECT_EQ(parse_refusal({"--universal-checkpoint"}), "unknown flag --universal-checkpoint: --help lists all");
  EXPECT_EQ(parse_refusal({"--temperature", "1"}), "unknown flag --temperature: --help lists all");
  EXPECT_NE(parse_refusal({"--" + std::string(1 << 20, 'x')}), "");
  EXPECT_NE(parse_refusal({"-x"}), "");
  EXPECT_NE(parse_refusal({"--"}), "");
}

TEST(Parse, WrongValuesNameFlagValueAndWhatIsWanted) {
  EXPECT_EQ(parse_refusal({"--num-layers", "abc"}), "--num-layers: 'abc' is not a whole number, such as 12");
  EXPECT_EQ(parse_refusal({"--layers", "1e3"}), "--layers: '1e3' is not a whole number, such as 12");
  EXPECT_EQ(parse_refusal({"--num-layers="}), "--num-layers: '' is not a whole number, such as 12");
  EXPECT_EQ(parse_refusal({"--num-layers", "99999999999999999999"}),
            "--num-layers: '99999999999999999999' is too large: give an integer of at most 64 bits");
  EXPECT_EQ(parse_refusal({"--eod", "3000000000"}),
            "--eod: '3000000000' is too large: give an integer of at most 32 bits");
  EXPECT_EQ(parse_refusal({"--lr", "fast"}), "--lr: 'fast' is not a number, such as 0.1 or 6e-4");
  EXPECT_EQ(parse_refusal({"--lr", "nan"}), "--lr: 'nan' is not a number, such as 0.1 or 6e-4");
  EXPECT_EQ(parse_refusal({"--lr", "1e999"}), "--lr: '1e999' is not a number, such as 0.1 or 6e-4");
  EXPECT_EQ(parse_refusal({"--colour", "pink"}), "--colour: 'pink' is none of red, green, blue");
  EXPECT_EQ(parse_refusal({"--skip", "1", "x"}), "--skip: 'x' is not a whole number, such as 12");
}

// Scripts write --train-samples 146_484_375, which Python's int() takes.
TEST(Parse, NumbersAsPythonWritesThem) {
  EXPECT_EQ(parsed({"--num-layers", "146_484_375"}).sample.num_layers, 146484375);
  EXPECT_EQ(parsed({"--num-layers", "+12"}).sample.num_layers, 12);
  EXPECT_EQ(parsed({"--lr", "1_0.2_5"}).sample.lr, 10.25);
  for (const char* text : {"_12", "12_", "1__2", "+-12", "++12", "+", "_"})
    EXPECT_EQ(parse_refusal({"--num-layers", text}),
              "--num-layers: '" + std::string(text) + "' is not a whole number, such as 12");
}

TEST(Parse, TypographicQuotes) {
  const std::string why = ": these quotes are typographic ones, which a shell takes for letters: write ' instead";
  EXPECT_EQ(parse_refusal({"--lr", "“1e-3”"}), "--lr “1e-3”" + why);
  EXPECT_EQ(parse_refusal({"--save=‘/x’"}), "--save ‘/x’" + why);
  EXPECT_EQ(parse_refusal({"--data-path", "0.5", "“a"}), "--data-path “a" + why);
  EXPECT_EQ(parsed({"--save", "“a b”"}).sample.save, "“a b”");
}

TEST(Parse, MissingAndSurplusValues) {
  EXPECT_EQ(parse_refusal({"--save"}), "--save wants a value");
  EXPECT_EQ(parse_refusal({"--save", "--bf16"}), "--save wants a value, and --bf16 follows");
  EXPECT_EQ(parse_refusal({"--data-path", "--bf16"}), "--data-path wants one or more values");
  EXPECT_EQ(parse_refusal({"--lr", "1", "2"}), "unexpected argument '2' after --lr: a flag is wanted here");
  EXPECT_EQ(parse_refusal({"file"}), "unexpected argument 'file': a flag is wanted here");
  EXPECT_EQ(parse_refusal({""}), "unexpected argument '': a flag is wanted here");
}

TEST(Parse, AWordWithoutAFlag) {
  const auto save_of = [](std::vector<std::string> words) {
    Sample sample;
    FieldList fields = fields_of(sample);
    fields.find("save")->also_bare();
    const std::vector<std::string> warnings = parse(fields, words).warnings;
    return sample.save + (warnings.empty() ? "" : "; " + warnings[0]);
  };
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"a b", "--lr", "1"}, {"--lr", "1", "a b"}, {"--bf16", "a b", "--lr", "1"}})
    EXPECT_EQ(save_of(words), "a b");
  EXPECT_EQ(save_of({"a", "--save", "b"}), "b; --save a and --save b are both given: the last one holds");
  EXPECT_EQ(error_of([&] {
              save_of({"a", "--lr", "1", "b"});
            }),
            "unexpected argument 'b' after --lr: a flag is wanted here");
}

TEST(Parse, OtherFlags) {
  const Parsed p = parsed({"--use-flash-attn", "--impl", "local", "--modules", "a", "b", "--num-layers", "4"});
  EXPECT_EQ(p.sample.num_layers, 4);
  EXPECT_EQ(p.result.notes, (std::vector<std::string>{"--use-flash-attn has no effect: it is always on",
                                                      "--impl has no effect: there is one",
                                                      "--modules has no effect: there are none"}));
  EXPECT_EQ(parse_refusal({"--fp8-format", "e4m3"}), "--fp8-format: fp8 is not built yet");
}

TEST(Parse, EveryMistakeIsTold) {
  const ParseResult r = parsed_all({"--num-layer", "3", "4", "--lr", "fast", "--save", "--fp8-format", "e4m3", "--skip",
                                    "--eod", "7", "x", "y", "--fp8-margin=1"});
  EXPECT_EQ(r.wrong.mistakes, (std::vector<std::string>{
                                  "unknown flag --num-layer: the nearest known one is --num-layers (--help lists all)",
                                  "--save wants a value, and --fp8-format follows", "--skip wants one or more values",
                                  "unexpected arguments 'x', 'y' after --eod: a flag is wanted here",
                                  "--lr: 'fast' is not a number, such as 0.1 or 6e-4"}));
  // What a misspelt flag means is told as well: it is not missing.
  EXPECT_EQ(r.wrong.unread, (std::set<std::string, std::less<>>{"--lr", "--num-layers", "--save", "--skip"}));
  ASSERT_EQ(r.wrong.refusals.size(), 1u);
  EXPECT_EQ(r.wrong.refusals[0].text(), "--fp8-format, --fp8-margin: fp8 is not built yet");
  EXPECT_EQ(r.given.uses.at("eod")[0].values, std::vector<std::string>{"7"});
  EXPECT_EQ(parse_refusal({"--lr", "fast", "--save"}),
            "2 things stop this: --save wants a value; --lr: 'fast' is not a number, such as 0.1 or 6e-4");
}

TEST(Parse, FlagsAboutWhatIsOffAskForNothing) {
  EXPECT_EQ(parsed({"--fp8-margin", "1"}).result.notes,
            std::vector<std::string>{"--fp8-margin has no effect: it is about --fp8-format, which is not given"});
  EXPECT_EQ(parsed({"--experts", "0", "--experts=None"}).result.notes,
            std::vector<std::string>{"--experts 0, --experts None have no effect: this is so without it"});
  EXPECT_EQ(parse_refusal({"--experts", "8"}), "--experts: experts are not built yet");
}

TEST(Parse, OldSpellings) {
  const Parsed p = parsed({"--depth", "5"});
  EXPECT_EQ(p.sample.num_layers, 5);
  EXPECT_TRUE(p.sample.bf16);
  EXPECT_EQ(p.result.notes, std::vector<std::string>{"--depth is read as --bf16 --num-layers"});
  EXPECT_EQ(parse_refusal({"--depth", "x"}), "--num-layers: 'x' is not a whole number, such as 12");
  EXPECT_EQ(parsed({"--depth=5"}).sample.num_layers, 5);
}

// The line that is left can be given to a shell.
TEST(Parse, TheLineWithoutWhatIsRefused) {
  const auto rest = [](std::vector<std::string> words) { return parsed_all(std::move(words)).wrong.rest; };
  EXPECT_EQ(
      rest({"--experts", "8", "--depth", "5", "--save", "a b", "--fp8-format=e4m3", "--use-flash-attn", "--lr=1"}),
      "--bf16 --num-layers 5 --save 'a b' --use-flash-attn --lr=1");
  EXPECT_EQ(rest({"--save", "it's|*", "--experts", "8"}), R"(--save 'it'\''s|*')");
  EXPECT_EQ(rest({"--lr", "1"}), "");
}

TEST(Parse, HelpComesFirst) {
  EXPECT_TRUE(parsed({"--num-layer", "--help"}).result.help);
  EXPECT_TRUE(parsed({"-h"}).result.help);
}

TEST(FieldList, TwoFieldsOfOneNameAreAMistake) {
  i64 a = 0, b = 0;
  FieldList list;
  list.add("x", a, "");
  list.add("y", b, "").also("--x");
  EXPECT_EQ(error_of([&] { list.check_unique(); }), "two fields have the flag --x");
}

}  // namespace
}  // namespace megalith::config
