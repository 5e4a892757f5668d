// Multi-token prediction after the layers of a GPT (DeepSeek-V3, arXiv 2412.19437, section 2.2; Megatron's modules).
// With h_0 the stream after the final norm, and depths j = 1 .. D:
//   u_j = [norm_e(embedding of the token j positions on) | norm_h(h_{j-1})] W^T, W [h,2h]
//   h_j = norm_f(layer_j(u_j)), logits_j = head(h_j), which predict the label j positions on
// The loss gets F / D of each depth's mean over the positions that count there. Embedding and head are the model's own.
#pragma once
#include <functional>

#include "models/blocks/parts.h"

namespace megalith {

// The parts of the trunk that modules use.
struct MtpTrunk {
  Value head{};                                           // weight
  std::function<Value(Value)> embed;                      // tokens [s,b] -> the stream [s,b,h]
  std::function<Value(const std::string&, Value)> layer;  // one of these parameters' names, over the stream
  std::function<Value(Value, Value, Value)> losses;       // h [s,b,h], weight, labels [s,b] -> cross entropies [s,b]
};

// The data leaves of depth j, [s,b]: tokens, labels and mask.
std::string mtp_data(const char* what, i64 depth);
// Inputs of all depths, which the host computes.
std::vector<DataInput> mtp_inputs(i64 depths);
std::string mtp_term(i64 depth);  // "mtp_1 loss", as Megatron logs it

// Adds the modules and their terms. h: h_0, in compute precision.
void add_mtp(Parts& parts, const MtpTrunk& trunk, Value h);

}  // namespace megalith
