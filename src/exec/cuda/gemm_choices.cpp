#include "exec/cuda/gemm_choices.h"

namespace megalith::cuda {

GemmChoices::GemmChoices(std::string file, std::string machine)
    : file_(std::move(file)), machine_(std::move(machine)) {}

const GemmChoice* GemmChoices::find(const std::string& problem) const {
  const auto it = choices_.find(problem);
  return it == choices_.end() ? nullptr : &it->second;
}

void GemmChoices::add(const std::string& problem, GemmChoice choice) { choices_[problem] = std::move(choice); }

}  // namespace megalith::cuda
