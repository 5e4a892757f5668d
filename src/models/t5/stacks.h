// The parts of a T5's graph: embeddings and layers of both stacks, the memory between them, the logits. Whole models,
// pieces of a model, and the programs of a generation are made of them.
#pragma once
#include <functional>

#include "models/blocks/parts.h"

namespace megalith {

// One of the two stacks.
struct T5Stack {
  const char* name;    // prefix of its parameters' names
  const char* tokens;  // leaf of its text
  const char* ids;     // leaf of its positions
  bool causal;
};
inline constexpr T5Stack kT5Encoder{"encoder", "tokens", "position_ids", false};
inline constexpr T5Stack kT5Decoder{"decoder", "decoder_tokens", "decoder_position_ids", true};

class T5Stacks {
 public:
  explicit T5Stacks(Parts parts) : p(std::move(parts)), b_(p.b), c_(p.config) {}

  // The output of cross-attention, from its name and its input. Empty: the stack has none.
  using Cross = std::function<Value(const std::string& name, Value x)>;

  // The text of a stack as the stream [s,b,h]. Both texts read the same tables, of words ([v,h]) and of positions.
  Value embed(const T5Stack& stack, Value table);
  // Layers [first, last) of a stack.
  Value layers(const T5Stack& stack, i64 first, i64 last, Value x, const Cross& cross = {});
  Value memory(Value x);  // from the encoder's stream: the input of cross-attention
  // From the decoder's stream. `table`: for a tied head.
  Value logits(Value x, Value table);

  Parts p;
  Value lengths{};  // [b], of the encoder's texts; none: all tokens exist

 private:
  Value positions_table(const T5Stack& stack);
  void see(bool causal, Value of_keys, Value table);
  Value layer(const T5Stack& stack, Value table, i64 index, Value x, const Cross& cross);
  Value give(const std::string& linear, bool has_bias, Value x, Value y);

  Builder& b_;
  const ModelConfig& c_;
};

}  // namespace megalith
