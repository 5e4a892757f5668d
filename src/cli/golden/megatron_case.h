// config.json of a Megatron Core case: its flags and its other settings.
#pragma once
#include <string>
#include <vector>

#include "models/config.h"
#include "optim/config.h"

namespace megalith {

struct MegatronCase {
  ModelConfig model;  // resolved
  OptimizerConfig optimizer;
  int micro_batches = 1;                // of a step
  std::vector<std::string> moe_layers;  // "layer1", "mtp0", in the order of the file's rows
};

// A model with an encoder (encoder_form.h).
struct EncoderCase {
  ModelConfig model;  // resolved
  OptimizerConfig optimizer;
  std::vector<std::string> squares_order;  // parameters, in the order of after10.sumsq
};

bool is_megatron_case(const std::string& dir);
// Error, naming the flag, if a flag asks for a feature that is not built.
MegatronCase read_megatron_case(const std::string& dir);
EncoderCase read_encoder_case(const std::string& dir);

// Whether it is a case of Megatron's T5 (megatron_t5_form.h).
bool is_megatron_t5_case(const std::string& dir);
struct MegatronT5Case {
  ModelConfig model;  // resolved
  OptimizerConfig optimizer;
  std::vector<std::string> sums_of;  // the parameters of after10.sumsq, in its order
};
MegatronT5Case read_megatron_t5_case(const std::string& dir);

}  // namespace megalith
