#include "models/t5/t5.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/blocks/vocabulary.h"
#include "models/t5/stacks.h"
#include "ops/einsum.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {

namespace {

// Indices of blocks: 0 is the encoder's embedding, 1 to e are its layers, then come the decoder's layers and the head.
// The piece that ends the encoder has its final norm. The piece that begins the decoder has its embedding.
struct T5Places {
  int decoder, head;  // the first layer of the decoder; the head
  explicit T5Places(const ModelConfig& c)
      : decoder(int(c.num_layers) + 1), head(decoder + int(c.t5.decoder_num_layers)) {}
};

class T5Builder {
 public:
  T5Builder(Parts parts, const ModelPiece& piece)
      : t5_(std::move(parts)), p_(t5_.p), c_(p_.config), piece_(piece), at_(c_) {}

  Built build() {
    p_.rows = p_.sequence_data("rows", DType::i64);
    t5_.lengths = p_.sequence_data("lengths", DType::i32);
    if (piece_.first == piece_.last) return sent(all_passed_on());
    if (reads_table()) table_ = word_embeddings(p_, table_blocks());
    Value memory;
    if (piece_.first < at_.decoder) {
      const Value x = encode();
      if (piece_.last < at_.decoder) return sent({x});
      memory = t5_.memory(x);
      if (piece_.last == at_.decoder) return sent({memory});
    }
    const Value y = decode(memory);
    if (piece_.last < at_.head) return sent({y, memory_});
    if (piece_.last == at_.head) return sent({y});
    loss(y);
    return std::move(p_.out);
  }

 private:
  bool holds(int block) const { return piece_.first <= block && block < piece_.last; }
  bool tied() const { return !c_.untie_embeddings_and_output_weights; }
  bool reads_table() const { return holds(0) || holds(at_.decoder) || (tied() && holds(at_.head)); }
  std::vector<int> table_blocks() const {
    std::vector<int> out = {0, at_.decoder};
    if (tied() && at_.head > at_.decoder) out.push_back(at_.head);
    return out;
  }

  Built sent(std::vector<Value> values) {
    p_.out.sent = std::move(values);
    return std::move(p_.out);
  }

  Value received_memory() {
    const i64 seq = std::exchange(p_.seq, c_.seq_length);
    const Value memory = p_.received(p_.mode.precision.activations);
    p_.seq = seq;
    return memory;
  }

  // A stage that does not change a value copies it, because it sends the copy.
  Value passed_on(Value x) { return p_.b.add1(Scale{3, 1}, {x}); }
  std::vector<Value> all_passed_on() {
    p_.seq = piece_.first > at_.decoder ? c_.t5.decoder_seq_length : c_.seq_length;
    if (piece_.first == at_.decoder) return {passed_on(received_memory())};
    const Value x = p_.received();
    if (piece_.first < at_.decoder || piece_.first == at_.head) return {passed_on(x)};
    return {passed_on(x), passed_on(received_memory())};
  }

  Value encode() {
    p_.seq = c_.seq_length;
    const Value x = piece_.first == 0 ? t5_.embed(kT5Encoder, table_) : p_.received();
    const i64 first = std::max(piece_.first - 1, 0), last = std::min(piece_.last, at_.decoder) - 1;
    return t5_.layers(kT5Encoder, first, last, x);
  }

  // This piece's part of the decoder. memory: the result of an encoder that ends in this piece.
  Value decode(Value memory) {
    const bool begins = piece_.first <= at_.decoder;
    p_.seq = c_.t5.decoder_seq_length;
    Value y = begins ? t5_.embed(kT5Decoder, table_) : p_.received();
    const i64 first = std::max(piece_.first, at_.decoder) - at_.decoder,
              last = std::min(piece_.last, at_.head) - at_.decoder;
    if (!memory && first < last) memory = received_memory();
    memory_ = memory;
    if (first == last) return y;
    const auto cross = [&](const std::string& name, Value x) {
      return cross_attention_block(p_, name, x, p_.to_tensor_parallel(memory));
    };
    y = t5_.layers(kT5Decoder, first, last, y, cross);
    if (piece_.first >= at_.decoder && piece_.last < at_.head) memory_ = passed_on(memory);
    return y;
  }

  void loss(Value x) {
    const Value l = p_.out.outputs["logits"] = t5_.logits(x, table_);
    const DType accum = accum_of(p_.mode.precision.activations);
    const Value labels = p_.data("labels", DType::i32), mask = p_.data("loss_mask", accum);
    const Value sum = einsum(p_.b, "sb,sb->", vocabulary_losses(p_, l, labels), mask);
    p_.out.terms.push_back({"lm loss", sum, p_.b.add1(Sum{"sb->", accum}, {mask})});
  }

  T5Stacks t5_;
  Parts& p_;
  const ModelConfig& c_;
  const ModelPiece& piece_;
  const T5Places at_;
  Value table_{}, memory_{};  // memory_: for the next piece
};

// 0, 1, 2.. for each sequence.
Batch::Array positions(const Batch& batch, i64 length) {
  std::vector<i32> out(size_t(batch.sequences * length));
  for (i64 b = 0; b < batch.sequences; ++b) std::iota(out.begin() + b * length, out.begin() + (b + 1) * length, 0);
  return out;
}

}  // namespace

std::string T5::describe(const ModelPiece& piece) const {
  const T5Places at(config_);
  std::vector<std::string> parts;
  const auto add_layers = [&](const char* stack, int begin, int end) {
    const int first = std::max(piece.first, begin), last = std::min(piece.last, end);
    if (first >= last) return;
    parts.push_back(last - first == 1 ? fmt::format("{} layer {}", stack, first - begin)
                                      : fmt::format("{} layers {} to {}", stack, first - begin, last - begin - 1));
  };
  if (piece.first == 0) parts.push_back("embedding");
  add_layers("encoder", 1, at.decoder), add_layers("decoder", at.decoder, at.head);
  if (piece.last == blocks()) parts.push_back("head");
  return parts.empty() ? "no layers" : fmt::format("{}", fmt::join(parts, ", "));
}

int T5::messages(int block) const {
  const T5Places at(config_);
  if (block <= 0 || block >= blocks()) return 0;
  return block > at.decoder && block < at.head ? 2 : 1;  // the memory and the decoder's stream
}

std::vector<DataInput> T5::inputs() const {
  const auto positions_of = [](i64 length) {
    return [length](const Batch& batch) { return positions(batch, length); };
  };
  const auto whole_length = [length = config_.seq_length](const Batch& batch) -> Batch::Array {
    return std::vector<i32>(size_t(batch.sequences), i32(length));
  };
  return {{"tokens"},
          {.name = "position_ids", .make = positions_of(config_.seq_length)},
          {.name = "lengths", .make = whole_length},
          {"decoder_tokens"},
          {.name = "decoder_position_ids", .make = positions_of(config_.t5.decoder_seq_length)},
          {"labels"},
          {"loss_mask"},
          {"rows"}};
}

Built T5::build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const {
  Parts parts{.b = b, .config = config_, .mode = mode, .style = style_};
  parts.suffix = piece.suffix;
  return T5Builder(std::move(parts), piece).build();
}

}  // namespace megalith
