// Runs Python, if it and its packages are installed: PyTorch and transformers check our files. $MEGALITH_PYTHON names
// the interpreter; the default is python3.
#pragma once
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/ckpt/helpers.h"
#include "tests/places.h"

namespace megalith {

inline std::string python() {
  const char* chosen = std::getenv("MEGALITH_PYTHON");
  return chosen != nullptr && *chosen != 0 ? chosen : "python3";
}

inline bool python_has(const std::string& modules) {
  return std::system((python() + " -c 'import " + modules + "' > /dev/null 2>&1").c_str()) == 0;
}

// Runs tests/ckpt/torch/SCRIPT with the arguments; its output if it fails, else "".
inline std::string run_python(const std::string& script, const std::vector<std::string>& arguments,
                              const std::string& log) {
  std::string line = python() + " " + kSourceDir + "/tests/ckpt/torch/" + script;
  for (const std::string& a : arguments) line += " '" + a + "'";
  const int status = std::system((line + " > " + log + " 2>&1").c_str());
  return status == 0 ? "" : slurp(log) + " (failed)";
}

}  // namespace megalith
