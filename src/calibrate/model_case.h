// The small models that calibrate measures. Their widths and lengths enclose those of common models.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/gpt/gpt.h"
#include "step/step.h"

namespace megalith {

struct ModelCase {
  bool llama = false;  // RMSNorm, SwiGLU, rope, no biases, untied; else like GPT-2
  i64 layers = 2, hidden = 0, ffn = 0, heads = 0, kv = 0, vocab = 0, seq = 0, batch = 0;
  DType dtype = DType::bf16;
  i64 experts = 0, topk = 0, expert_ffn = 0;       // 0 experts: no mixtures
  std::optional<QuantizeConfig::Recipe> fp8 = {};  // of linear layers, with the format hybrid

  std::string name() const;
  ModelConfig config() const;
  StepSpec spec() const;
};

// The models to measure on a GPU or a CPU, the most informative first. codes: also models in fp8, on GPUs only.
std::vector<ModelCase> timed_cases(bool gpu, bool codes);
std::vector<ModelCase> mixture_cases(bool gpu);
// Common models. They are only planned, to record the workspaces of their kernels and libraries. codes: also in fp8.
std::vector<ModelCase> planned_cases(bool codes);

}  // namespace megalith
