#include "config/file.h"

#include <gtest/gtest.h>

#include "sample.h"

namespace megalith::config {
namespace {

const std::vector<OtherFlag> kOthers = {{"--use-flash-attn", true, OtherFlag::Takes::nothing, "it is always on"},
                                        {"--fp8-format", false, OtherFlag::Takes::one, "fp8 is not built yet"},
                                        {"--no-fusion", true, OtherFlag::Takes::nothing, "it is planned"},
                                        {.flag = "--depth", .takes = OtherFlag::Takes::one, .means = {"--num-layers"}},
                                        {.flag = "--half", .means = {"--bf16"}}};

Sample from_yaml(const std::string& text, std::vector<std::string> words = {}) {
  const TemporaryFile file(text);
  Sample sample;
  FieldList fields = fields_of(sample);
  words.insert(words.begin(), {"--config", file.path()});
  parse(fields, words, kOthers);
  return sample;
}

// The message without the directory of the file.
std::string refusal(const std::string& yaml) {
  const std::string message = error_of([&] { from_yaml(yaml); });
  const size_t at = message.find(".yaml");
  return at == std::string::npos ? message : message.substr(at + 5);
}

TEST(Yaml, EveryKindWithDashesOrUnderscores) {
  const Sample s = from_yaml(
      "num_layers: 3\nlr: 6e-4\neod: 7\nbf16: true\ncheck-nan: no\nsave: a b\nstart-decay: 0\ncolour: "
      "red\nwindow_size: 7,0\n"
      "lists:\n  skip: [1, 2]\n  weights:\n  - 0.5\n  data_path: [0.3, x, '0.7', y]\nuse-flash-attn: true\n");
  EXPECT_EQ(s, (Sample{.num_layers = 3,
                       .lr = 6e-4,
                       .bf16 = true,
                       .check_nan = false,
                       .save = "a b",
                       .start_decay = 0.0,
                       .colour = Colour::red,
                       .groups = 0,
                       .window = 7,
                       .skip = {1, 2},
                       .weights = {.5},
                       .data_path = {"0.3", "x", "0.7", "y"},
                       .eod = 7}));
}

TEST(Yaml, SwitchesTurnedOffAndNull) {
  EXPECT_TRUE(from_yaml("no_check_nan: false").check_nan);
  EXPECT_FALSE(from_yaml("no_check_nan: true").check_nan);
  EXPECT_FALSE(from_yaml("bf16: false").bf16);
  EXPECT_EQ(from_yaml("azure: true").colour, Colour::blue);
  EXPECT_EQ(from_yaml("azure: false").colour, Colour::green);
  EXPECT_EQ(from_yaml("save: null\nlr:\n"), Sample{});
  EXPECT_EQ(from_yaml("fp8-format: false"), Sample{});
  EXPECT_EQ(from_yaml(""), Sample{});
  EXPECT_EQ(from_yaml("data_path: []").data_path, std::vector<std::string>{});
}

TEST(Yaml, CommandLineOverridesFile) {
  const Sample s = from_yaml("num-layers: 3\nazure: true\nlr: 5\n", {"--crimson", "--num-layers", "9"});
  EXPECT_EQ(s.num_layers, 9);
  EXPECT_EQ(s.colour, Colour::red);
  EXPECT_EQ(s.lr, 5);
}

TEST(Yaml, GivenForgetsWhatTheCommandLineOverrides) {
  const TemporaryFile file("azure: true\nlr: 3\n");
  Sample sample;
  FieldList fields = fields_of(sample);
  const std::vector<std::string> words = {"--crimson", "--config", file.path()};
  const Given given = parse(fields, words).given;
  EXPECT_EQ(given.contradiction("colour"), "");
  EXPECT_TRUE(given.has("lr"));
}

TEST(Yaml, WeakSwitchYieldsAcrossSources) {
  EXPECT_EQ(from_yaml("num-groups: 8", {"--grouped"}).groups, 8);
  EXPECT_EQ(from_yaml("grouped: true", {"--num-groups", "8"}).groups, 8);
  EXPECT_EQ(from_yaml("grouped: true").groups, 1);
}

TEST(Yaml, BadFilesNameTheLine) {
  EXPECT_EQ(refusal("lr: 1\nnum_layer: 3\n"),
            " line 2: unknown key 'num_layer': the nearest known one is --num-layers (--help lists all)");
  EXPECT_EQ(refusal("num_layers: many\n"), " line 1: num_layers: 'many' is not a whole number, such as 12");
  EXPECT_EQ(refusal("num_layers: [1, 2]\n"), " line 1: num_layers: one value is wanted, 2 are given");
  EXPECT_EQ(refusal("skip: [[1]]\n"), " line 1: skip: the elements of a list must be single values");
  EXPECT_EQ(refusal("fp8-format: e4m3\n"), " line 1: fp8-format: fp8 is not built yet");
  EXPECT_EQ(refusal("azure: [true, true]\n"), " line 1: azure: true or false is wanted");
  EXPECT_TRUE(refusal("a: [1,\nb: }\n").find("not valid YAML") != std::string::npos) << refusal("a: [1,\nb: }\n");
  EXPECT_TRUE(refusal("just a sentence").find("give a map of flags") != std::string::npos);
  EXPECT_TRUE(refusal("[1]: 2").find("a key must be the name of a flag") != std::string::npos);
  Sample sample;
  FieldList fields = fields_of(sample);
  const auto message = [&](std::vector<std::string> words) { return error_of([&] { parse(fields, words); }); };
  EXPECT_EQ(message({"--config", "/nowhere.yaml"}), "--config /nowhere.yaml: cannot be opened: check the path");
  EXPECT_EQ(message({"--config", "/tmp"}), "--config /tmp: this is a directory; a YAML file is wanted");
  EXPECT_EQ(message({"--config"}), "--config wants a value");
}

TEST(Yaml, EveryMistakeIsTold) {
  EXPECT_EQ(refusal("lrr: 1\nnum_layers: many\nfp8-format: e4m3\n").substr(0, 25), " line 1: unknown key 'lrr");
  const std::string all = refusal("lrr: 1\nnum_layers: many\nfp8-format: e4m3\nskip: [a]\n");
  for (const char* part : {"line 1: unknown key 'lrr'", "line 2: num_layers: 'many'", "line 4: skip: 'a'",
                           "line 3: fp8-format: fp8 is not built yet"})
    EXPECT_NE(all.find(part), std::string::npos) << all;
}

TEST(Yaml, OldSpellingsAndOpposites) {
  EXPECT_EQ(from_yaml("depth: 4\n").num_layers, 4);
  EXPECT_TRUE(from_yaml("half: true\n").bf16);
  EXPECT_FALSE(from_yaml("half: false\n").bf16);
  EXPECT_EQ(from_yaml("fusion: true\n"), Sample{});
  EXPECT_EQ(from_yaml("fusion: false\n"), Sample{});
  EXPECT_EQ(refusal("depth: x\n"), " line 1: depth: 'x' is not a whole number, such as 12");
}

TEST(Json, RoundTripIsExact) {
  Sample a{.num_layers = -5,
           .lr = 0.1 + 0.2,
           .bf16 = true,
           .check_nan = false,
           .save = "q\"\\\n",
           .start_decay = 1e-300,
           .colour = Colour::blue,
           .groups = i64(1) << 62,
           .window = 1,
           .skip = {3},
           .weights = {1, 0.3, -1e22},
           .data_path = {"", "x y"},
           .eod = -3};
  const std::string text = to_json(fields_of(a));
  Sample b;
  FieldList fields = fields_of(b);
  from_json(fields, text, "test");
  EXPECT_EQ(a, b);
  Sample plain, c = a;
  FieldList back = fields_of(c);
  from_json(back, to_json(fields_of(plain)), "test");
  EXPECT_EQ(c, plain);
}

// As of another version of this program.
TEST(Json, UnknownKeysAreTold) {
  Sample sample;
  FieldList fields = fields_of(sample);
  const std::vector<std::string> unknown = from_json(fields, R"({"x": 1, "num_layers": 7, "y": {"z": []}})", "f");
  EXPECT_EQ(unknown, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(sample.num_layers, 7);
}

TEST(Json, BadTextIsRefused) {
  Sample sample;
  FieldList fields = fields_of(sample);
  const auto message = [&](const std::string& text) { return error_of([&] { from_json(fields, text, "f"); }); };
  EXPECT_EQ(message("{"), "f: this is not a JSON object of settings");
  EXPECT_EQ(message("[1]"), "f: this is not a JSON object of settings");
  EXPECT_EQ(message("{\"num_layers\": 1.5}"), "f: num_layers: '1.5' is not a whole number, such as 12");
  EXPECT_EQ(message("{\"num_layers\": null}"), "f: num_layers: it has no value: give one");
  EXPECT_EQ(message("{\"num_layers\": {}}"), "f: num_layers: a single value is wanted, object is given");
  EXPECT_EQ(message("{\"skip\": [null]}"), "f: skip: a single value is wanted, null is given");
}

TEST(Differences, NamesExpectedAndFound) {
  Sample a, b;
  b.num_layers = 24;
  b.bf16 = true;
  const auto list = differences(fields_of(a), fields_of(b));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name + list[0].expected + list[0].found, "num_layers1224");
  EXPECT_EQ(list[1].name + list[1].expected + list[1].found, "bf16FalseTrue");
  EXPECT_TRUE(differences(fields_of(a), fields_of(a)).empty());
}

}  // namespace
}  // namespace megalith::config
