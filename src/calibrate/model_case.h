// Small training steps whose kernels calibrate times: of widths and lengths between which the models of the field lie.
#pragma once
#include <string>
#include <vector>

#include "models/gpt/gpt.h"
#include "step/step.h"

namespace megalith {

struct ModelCase {
  bool llama = false;  // RMSNorm, SwiGLU, rope, no biases, untied; else GPT-2
  i64 layers = 2, hidden = 0, ffn = 0, heads = 0, kv = 0, vocab = 0, seq = 0, batch = 0;
  DType dtype = DType::bf16;
  i64 experts = 0, topk = 0, expert_ffn = 0;  // 0 experts: none of the layers is a mixture

  std::string name() const;
  ModelConfig config() const;
  StepSpec spec() const;
};

// What is timed on a GPU or a CPU: those that tell the most first.
std::vector<ModelCase> timed_cases(bool gpu);
std::vector<ModelCase> mixture_cases(bool gpu);
// Well-known models: only what their kernels and libraries ask for is recorded, by planning them.
std::vector<ModelCase> planned_cases();

}  // namespace megalith
