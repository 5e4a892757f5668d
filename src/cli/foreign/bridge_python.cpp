#include "cli/foreign/bridge_python.h"

namespace megalith {
namespace {

// The quoted arguments of a call, in order. Keywords count too, because both forms have the same order.
std::vector<std::string> quoted(std::string_view arguments) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    if (arguments[at] == ')') break;
    if (arguments[at] != '\'' && arguments[at] != '"') continue;
    const std::size_t end = arguments.find(arguments[at], at + 1);
    if (end == std::string_view::npos) break;
    texts.emplace_back(arguments.substr(at + 1, end - at - 1));
    at = end;
  }
  return texts;
}

}  // namespace

std::vector<std::string> bridge_call(std::string_view python) {
  for (const std::string_view call : {"import_ckpt(", "export_ckpt("}) {
    const std::size_t at = python.find(call);
    if (at == std::string_view::npos) continue;
    const std::vector<std::string> texts = quoted(python.substr(at + call.size()));
    if (texts.size() < 2) return {};
    if (call[0] == 'i') return {"import", "--hf-model", texts[0], "--megatron-path", texts[1]};
    return {"export", "--megatron-path", texts[0], "--hf-path", texts[1]};
  }
  return {};
}

}  // namespace megalith
