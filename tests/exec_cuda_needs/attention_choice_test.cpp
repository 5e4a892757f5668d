#include "exec/cuda_needs/attention_choice.h"

#include <gtest/gtest.h>

namespace megalith::cuda {

using Way = AttentionChoice::Way;

static const AttentionCase kPlain{.dtype = DType::bf16, .s = 4096, .t = 4096, .d = 128};

TEST(AttentionChoice, cudnn_where_it_can) {
  const AttentionChoice c = choose_attention(kPlain);
  EXPECT_EQ(c.way, Way::cudnn);
  EXPECT_EQ(explain(c, 91900), "attention: cuDNN 9.19 (causal, bf16, head size 128)");
  AttentionCase windowed = kPlain;
  windowed.window = 512;
  EXPECT_EQ(explain(choose_attention(windowed), 91002),
            "attention: cuDNN 9.10 (causal, window 512, bf16, head size 128)");
}

TEST(AttentionChoice, own_kernel_for_the_rest) {
  const auto reason = [](auto change) {
    AttentionCase c = kPlain;
    change(c);
    const AttentionChoice choice = choose_attention(c);
    EXPECT_EQ(choice.way, Way::own);
    return explain(choice, 91900);
  };
  EXPECT_EQ(reason([](AttentionCase& c) { c.dropout = true; }),
            "attention: own kernel, because attention dropout is on and its random numbers are keyed by position");
  EXPECT_EQ(reason([](AttentionCase& c) { c.dtype = DType::f32; }),
            "attention: own kernel, because cuDNN has none for f32");
  EXPECT_NE(reason([](AttentionCase& c) { c.alibi = true; }).find("ALiBi"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.relative = c.backward = true; }).find("its gradient"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.relative = c.cut = true; }).find("a part of it"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.relative = true; }).find("too large"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.lengths = true; }).find("lengths"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.documents = true; }).find("packed documents"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.s = c.t = 1; }).find("one token"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.s = 1; }).find("one token"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.d = 100; }).find("no multiple of 8"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.d = 264; }).find("above cuDNN's 256"), std::string::npos);
  EXPECT_NE(reason([](AttentionCase& c) { c.capability = 75; }).find("8.0"), std::string::npos);
}

TEST(AttentionChoice, gradient_of_a_short_window) {
  AttentionCase c = kPlain;
  c.window = c.s / 8;
  EXPECT_NE(choose_attention(c).way, AttentionChoice::Way::own);
  c.backward = true;
  EXPECT_EQ(explain(choose_attention(c), 91900),
            "attention: own kernel, because cuDNN's deterministic gradient does not profit from window 512");
  c.window += 1;
  EXPECT_NE(choose_attention(c).way, AttentionChoice::Way::own);
}

TEST(AttentionChoice, part_of_the_queries) {
  AttentionCase c = kPlain;
  c.s = 512;
  EXPECT_EQ(explain(choose_attention(c), 91900),
            "attention: cuDNN 9.19 (causal, a part of the sequence's queries, bf16, head size 128)");
  c.backward = true;
  EXPECT_EQ(
      explain(choose_attention(c), 91900),
      "attention backward: own kernel for Hopper (causal, a part of the sequence's queries, bf16, head size 128)");
  const auto reason = [&](auto change) {
    AttentionCase other = c;
    change(other);
    return explain(choose_attention(other), 91900);
  };
  const std::string part = "attention: own kernel, because this rank has a part of the sequence's queries";
  EXPECT_EQ(reason([](AttentionCase& c) { c.window = 2048; }), part);
  EXPECT_EQ(reason([](AttentionCase& c) { c.d = 96; }), part);
  EXPECT_EQ(reason([](AttentionCase& c) { c.capability = 100; }), part);
}

TEST(AttentionChoice, wide_heads_on_hopper_only) {
  AttentionCase c = kPlain;
  c.d = 256;
  EXPECT_EQ(choose_attention(c).way, Way::cudnn);
  c.capability = 80;
  EXPECT_EQ(choose_attention(c).way, Way::own);
}

TEST(AttentionChoice, backward_on_hopper) {
  AttentionCase c = kPlain;
  c.backward = true;
  for (i64 d : {64, 128}) {
    c.d = d;
    EXPECT_EQ(choose_attention(c).way, Way::hopper) << d;
  }
  EXPECT_EQ(explain(choose_attention(c), 91900),
            "attention backward: own kernel for Hopper (causal, bf16, head size 128)");
  const auto way = [&](auto change) {
    AttentionCase other = c;
    change(other);
    return choose_attention(other).way;
  };
  EXPECT_EQ(way([](AttentionCase& c) { c.backward = false; }), Way::cudnn);
  EXPECT_EQ(way([](AttentionCase& c) { c.window = 1024; }), Way::cudnn);
  EXPECT_EQ(way([](AttentionCase& c) { c.window = 512; }), Way::own);
  EXPECT_EQ(way([](AttentionCase& c) { c.d = 96; }), Way::cudnn);
  EXPECT_EQ(way([](AttentionCase& c) { c.capability = 100; }), Way::cudnn);
  EXPECT_EQ(way([](AttentionCase& c) { c.dropout = true; }), Way::own);
  EXPECT_EQ(way([](AttentionCase& c) { c.documents = true; }), Way::own);
  EXPECT_EQ(way([](AttentionCase& c) { c.dtype = DType::f32; }), Way::own);
}

// Of BERT, and of T5's decoder over the encoder's sequence.
TEST(AttentionChoice, sequences_that_end_early) {
  AttentionCase c = kPlain;
  c.causal = false, c.lengths = true, c.d = 64;
  EXPECT_EQ(explain(choose_attention(c), 91900),
            "attention: cuDNN 9.19 (not causal, sequences end early, bf16, head size 64)");
  AttentionCase relative = c;
  relative.relative = true, relative.s = relative.t = 512;
  EXPECT_EQ(explain(choose_attention(relative), 91900),
            "attention: cuDNN 9.19 (not causal, sequences end early, relative positions, bf16, head size 64)");
  c.backward = true;
  EXPECT_EQ(explain(choose_attention(c), 91900),
            "attention backward: own kernel for Hopper (not causal, sequences end early, bf16, head size 64)");
  const auto way = [&](auto change) {
    AttentionCase other = c;
    change(other);
    return choose_attention(other).way;
  };
  EXPECT_EQ(way([](AttentionCase& c) { c.lengths = false; }), Way::cudnn);
  EXPECT_EQ(way([](AttentionCase& c) { c.t = 512; }), Way::hopper);
  EXPECT_EQ(way([](AttentionCase& c) { c.lengths = false, c.t = 512; }), Way::hopper);
  EXPECT_EQ(way([](AttentionCase& c) { c.d = 96; }), Way::cudnn);
  EXPECT_EQ(way([](AttentionCase& c) { c.d = 96, c.t = 512; }), Way::own);
  EXPECT_EQ(way([](AttentionCase& c) { c.capability = 100; }), Way::cudnn);
  EXPECT_EQ(way([](AttentionCase& c) { c.dropout = true; }), Way::own);
  EXPECT_EQ(way([](AttentionCase& c) { c.relative = true; }), Way::own);
}

TEST(AttentionChoice, blocks_of_a_ring) {
  AttentionCase c = kPlain;
  c.block = AttentionCase::Block::whole, c.t = 2048;
  EXPECT_EQ(explain(choose_attention(c), 91900),
            "attention: cuDNN 9.19 (a ring's blocks of keys, bf16, head size 128)");
  c.backward = true;
  EXPECT_EQ(explain(choose_attention(c), 91900),
            "attention backward: own kernel for Hopper (a ring's blocks of keys, bf16, head size 128)");
  const auto reason = [&](auto change) {
    AttentionCase other = c;
    change(other);
    return explain(choose_attention(other), 91900);
  };
  using Block = AttentionCase::Block;
  const std::string f32 = "attention: own kernel, because a ring adds up gradients in f32, which cuDNN's are not";
  EXPECT_EQ(reason([](AttentionCase& c) { c.d = 96; }), f32);
  EXPECT_EQ(reason([](AttentionCase& c) { c.capability = 100; }), f32);
  EXPECT_EQ(reason([](AttentionCase& c) { c.t = 2000; }), f32);
  EXPECT_EQ(reason([](AttentionCase& c) { c.t = c.s = 2000, c.block = Block::diagonal; }),
            "attention backward: own kernel for Hopper (a ring's blocks of keys, bf16, head size 128)");
  for (bool backward : {false, true}) {
    EXPECT_EQ(reason([&](AttentionCase& c) { c.window = 512, c.backward = backward; }),
              "attention: own kernel, because a window crosses a ring's blocks of keys");
    EXPECT_EQ(reason([&](AttentionCase& c) { c.block = Block::ragged, c.backward = backward; }),
              "attention: own kernel, because a ring's blocks of keys and queries differ in order");
  }
}

}  // namespace megalith::cuda
