#include "ckpt/torch/pickle.h"

#include <random>

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

using Kind = PickleValue::Kind;
using namespace std::string_literals;

Pickle load(const std::string& text) { return Pickle(std::as_bytes(std::span(text)), "file"); }

TEST(Pickle, scalars) {
  // (None, True, False, 7, 300, -2, 2**40, -1 as a long, 1.5, "ab", b"xy"), protocol 2 and newer opcodes mixed
  const Pickle p = load(
      "\x80\x02(N\x88\x89K\x07M\x2c\x01J\xfe\xff\xff\xff\x8a\x06\0\0\0\0\0\x01\x8a\x01\xffG\x3f\xf8\0\0\0\0\0\0"
      "X\x02\0\0\0"
      "abC\x02xyt."s);
  const auto& items = *p.root().sequence();
  ASSERT_EQ(items.size(), 11u);
  EXPECT_TRUE(items[0]->is_none());
  EXPECT_EQ(items[1]->kind, Kind::boolean);
  EXPECT_EQ(items[1]->integer, 1);
  EXPECT_EQ(items[2]->integer, 0);
  EXPECT_EQ(pickle_integer(items[3], ""), 7);
  EXPECT_EQ(pickle_integer(items[4], ""), 300);
  EXPECT_EQ(pickle_integer(items[5], ""), -2);
  EXPECT_EQ(pickle_integer(items[6], ""), i64{1} << 40);
  EXPECT_EQ(pickle_integer(items[7], ""), -1);
  EXPECT_EQ(items[8]->real, 1.5);
  EXPECT_EQ(pickle_text(items[9], ""), "ab");
  EXPECT_EQ(items[10]->text, "xy");
  EXPECT_EQ(items[10]->kind, Kind::bytes);
}

TEST(Pickle, dicts_objects_and_memo) {
  // {"a": [1, 1], "b": OrderedDict()} with the list's item recalled, protocol 4
  const Pickle p = load(
      "\x80\x04\x95\x10\0\0\0\0\0\0\0}(\x8c\x01"
      "a](K\x01\x94h\0e\x8c\x01"
      "b\x8c\x0b"
      "collections\x8c\x0bOrderedDict\x93)Ru."s);
  const PickleValue* a = p.root().find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->items.size(), 2u);
  EXPECT_EQ(a->items[0], a->items[1]);
  EXPECT_TRUE(p.root().find("b")->is_dict());
  EXPECT_EQ(p.root().find("c"), nullptr);
}

TEST(Pickle, cycles_end) {
  const Pickle p = load("\x80\x02]q\0h\0a."s);  // a list that holds itself
  EXPECT_EQ(p.root().items[0], &p.root());
}

TEST(Pickle, deep_nesting_needs_no_stack) {
  std::string text = "\x80\x02";
  for (int i = 0; i < 1000000; ++i) text += ']';
  for (int i = 0; i < 999999; ++i) text += 'a';
  EXPECT_EQ(load(text + ".").root().items.size(), 1u);
}

TEST(Pickle, refuses_classes_by_name) {
  expect_error(
      [] {
        load(
            "\x80\x02"
            "cos\nsystem\nX\x02\0\0\0ls\x85R."s);
      },
      "os.system");
  expect_error(
      [] {
        load(
            "\x80\x04\x8c\x08"
            "builtins\x8c\x04"
            "eval\x93\x8c\x01"
            "1\x85R."s);
      },
      "builtins.eval");
  expect_error(
      [] {
        load(
            "\x80\x02"
            "ctorch\nload\n."s);
      },
      "torch.load, which no checkpoint needs: refused");
}

TEST(Pickle, sizes_are_of_few_dimensions) {
  const auto sizes = [](std::size_t n) {
    std::string text = "\x80\x02("s;
    for (std::size_t i = 0; i < n; ++i) text += "K\x01"s;
    return load(text + "t."s);
  };
  EXPECT_EQ(pickle_sizes(&sizes(64).root(), "x").size(), 64u);
  expect_error([&] { pickle_sizes(&sizes(400'000).root(), "x"); }, "x: a shape has 400000 dimensions, at most 64");
}

TEST(Pickle, refuses_damage) {
  for (const std::string& text : {""s,
                                  "."s,
                                  "x"s,
                                  "\x80\x02"s,
                                  "\x80\x02."s,
                                  "\x80\x00N."s,
                                  "\x80\x06N."s,
                                  "\x80\x02NN."s,
                                  "\x80\x02(N."s,
                                  "\x80\x02t."s,
                                  "\x80\x02h\x05."s,
                                  "\x80\x02X\xff\xff\xff\xff"
                                  "a."s,
                                  "\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                                  "a."s,
                                  "\x80\x02\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"
                                  "a."s,
                                  "\x80\x02Na."s,
                                  "\x80\x02K\x01K\x02s."s,
                                  "\x80\x02(Ku."s,
                                  "\x80\x02}(K\x01u."s,
                                  "\x80\x02NNR."s,
                                  "\x80\x02Nb."s,
                                  "\x80\x02(K\x01"
                                  "1."s,
                                  "\x80\x02\x8b\xff\xff\xff\xff."s,
                                  "\x80\x02"
                                  "ccollections"s,
                                  "\x80\x02I1\n."s,
                                  "\x80\x02\x82\x01."s})
    EXPECT_EQ(error_of([&] { load(text); }).find('\n'), std::string::npos);
}

TEST(Pickle, random_bytes_never_crash) {
  std::mt19937 random(7);
  const std::string opcodes =
      "NK\x88(tl]}d)aseu\x85\x86\x87q\x01h\x01\x94R\x81"
      "bQ02.";
  for (int n = 0; n < 20000; ++n) {
    std::string text = "\x80\x02";
    for (int i = 0; i < 40; ++i) text += random() % 8 != 0 ? opcodes[random() % opcodes.size()] : char(random());
    try {
      load(text);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace megalith
