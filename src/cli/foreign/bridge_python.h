// `-c "... AutoBridge.import_ckpt('meta-llama/...', './checkpoints') ..."`: a call of Megatron Bridge in a line of
// Python.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace megalith {

// The words of our `convert` for the first such call in the text. Empty if there is none.
std::vector<std::string> bridge_call(std::string_view python);

}  // namespace megalith
