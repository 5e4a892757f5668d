// Multi-token prediction after the layers of a GPT (DeepSeek-V3, arXiv 2412.19437, section 2.2; Megatron's modules).
// h_0 is the stream after the final norm. For the depths j = 1 .. D:
//   u_j = [norm_e(embedding of the token j positions on) | norm_h(h_{j-1})] W^T, W [h,2h]
//   h_j = norm_f(layer_j(u_j)), logits_j = head(h_j), which predict the label j positions on
// The loss adds F / D times each depth's mean over the positions that count. Embedding and head are those of the model.
#pragma once
#include <functional>

#include "models/blocks/parts.h"

namespace megalith {

// The parts of the main model that modules use.
struct MtpTrunk {
  Value head{};                       // weight of the output layer
  std::function<Value(Value)> embed;  // tokens [s,b] -> the stream [s,b,h]
  // a layer with the parameters of this name, applied to the stream
  std::function<Value(const std::string&, Value)> layer;
  std::function<Value(Value, Value, Value)> losses;  // h [s,b,h], weight, labels [s,b] -> cross entropies [s,b]
};

// The data leaves of depth j, [s,b]: tokens, labels and mask.
std::string mtp_data(const char* what, i64 depth);
// Inputs of all depths, which the host computes.
std::vector<DataInput> mtp_inputs(i64 depths);
std::string mtp_term(i64 depth);  // "mtp_1 loss", as Megatron logs it

// Adds the modules and their terms. h: h_0, in compute precision.
void add_mtp(Parts& parts, const MtpTrunk& trunk, Value h);

}  // namespace megalith
