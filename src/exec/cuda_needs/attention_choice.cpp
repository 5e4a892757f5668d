#include "exec/cuda_needs/attention_choice.h"

namespace megalith::cuda {

// Measured with cuDNN 9.19 on an H200, 8192 positions, head size 128, with a window of an eighth of them. cuDNN's
// deterministic backward takes as long as ours (2.9 ms). One of its products covers the whole square of scores. It also
// takes gigabytes more.
constexpr i64 kShortWindow = 8;

// Maximum scores of a head whose biases are written to memory for cuDNN.
constexpr i64 kMostBiased = i64{2048} * 2048;

using PairBlock = AttentionCase::Block;

// Keys in a tile of the kernel for Hopper. The diagonal must mask the keys that pad the last tile.
constexpr i64 kHopperKeys = 128;

static bool suits_hopper(const AttentionCase& c) {
  if (c.block == PairBlock::whole && c.t % kHopperKeys != 0) return false;
  const bool masked = c.causal || c.lengths || c.s != c.t;
  return c.dtype == DType::bf16 && c.backward && masked && c.capability == 90 && c.window == 0 &&
         (c.d == 64 || c.d == 128);
}

// Why a block of a ring cannot use the kernels for all keys of a sequence; empty if it can.
static std::string objection_of_block(const AttentionCase& c) {
  if (c.block == PairBlock::none) return "";
  if (c.window > 0) return "a window crosses a ring's blocks of keys";
  if (c.block == PairBlock::ragged) return "a ring's blocks of keys and queries differ in order";
  if (c.backward && !suits_hopper(c)) return "a ring adds up gradients in f32, which cuDNN's are not";
  return "";
}

// Why neither cuDNN nor the Hopper kernel is used; empty if there is no reason.
static std::string objection(const AttentionCase& c) {
  const bool hopper = c.capability / 10 == 9;
  const i64 widest = hopper ? 256 : 128;
  if (c.dtype != DType::bf16 && c.dtype != DType::f16) return fmt::format("cuDNN has none for {}", name_of(c.dtype));
  if (c.capability < 80) return "cuDNN needs a GPU of compute capability 8.0 or more";
  if (c.dropout) return "attention dropout is on and its random numbers are keyed by position";
  if (c.alibi) return "the scores have ALiBi's bias";
  if (c.documents) return "samples are packed documents whose starts only the GPU knows";
  if (c.relative && c.backward) return "the scores have the bias of relative positions, and its gradient is wanted";
  if (c.relative && (c.cut || c.s * c.t > kMostBiased))
    return "the bias of relative positions would be too large, or this rank has a part of it";
  if (c.lengths && c.causal) return "the scores are causal, and the sequences' lengths are known only to the GPU";
  if (c.s < 2) return "the sequence, or this rank's part of it, is one token";
  if (c.d % 8 != 0) return fmt::format("head size {} is no multiple of 8", c.d);
  if (c.d > widest) return fmt::format("head size {} is above cuDNN's {}", c.d, widest);
  if (const std::string block = objection_of_block(c); !block.empty()) return block;
  if (c.backward && c.s != c.t && !suits_hopper(c))
    return c.causal ? "this rank has a part of the sequence's queries" : "there are not as many queries as keys";
  if (c.backward && c.window > 0 && kShortWindow * c.window <= c.s)
    return fmt::format("cuDNN's deterministic gradient does not profit from window {}", c.window);
  return "";
}

AttentionChoice choose_attention(const AttentionCase& c) {
  using enum AttentionChoice::Way;
  const std::string why_not = objection(c);
  if (!why_not.empty()) return {own, "because " + why_not};
  const std::string window = c.window > 0 ? fmt::format(", window {}", c.window) : "";
  const std::string part = c.s == c.t ? "" : c.causal ? ", a part of the sequence's queries" : ", another's keys";
  const std::string lengths =
      std::string(c.lengths ? ", sequences end early" : "") + (c.relative ? ", relative positions" : "");
  const std::string seen = c.block == PairBlock::none ? (c.causal ? "causal" : "not causal") + window + part + lengths
                                                      : "a ring's blocks of keys";
  return {suits_hopper(c) ? hopper : cudnn, fmt::format("{}, {}, head size {}", seen, name_of(c.dtype), c.d)};
}

std::string explain(const AttentionChoice& choice, i64 version) {
  switch (choice.way) {
    case AttentionChoice::Way::cudnn:
      return fmt::format("attention: cuDNN {}.{} ({})", version / 10000, version / 100 % 100, choice.reason);
    case AttentionChoice::Way::hopper:
      return fmt::format("attention backward: own kernel for Hopper ({})", choice.reason);
    case AttentionChoice::Way::own:
      break;
  }
  return "attention: own kernel, " + choice.reason;
}

}  // namespace megalith::cuda
