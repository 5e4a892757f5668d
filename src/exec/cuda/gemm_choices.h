// The matrix-product algorithms that were measured to be the fastest, by problem: kept in a file, so that a second
// start costs nothing and the same algorithm (so the same bits) is used from run to run.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::cuda {

// `algorithm`: the library's own description of it, opaque bytes. `ms`: what it took when it was chosen.
struct GemmChoice {
  std::vector<u8> algorithm;
  double ms = 0;
};

class GemmChoices {
 public:
  // Reads `file` if there is one. What was written for another GPU or library version (`machine`) is left out; a
  // damaged file counts as none, with a warning.
  GemmChoices(std::string file, std::string machine);

  const GemmChoice* find(const std::string& problem) const;
  // Remembers and writes the file (crash-safe: a new file replaces the old one). A file that can't be written is a
  // warning, once.
  void add(const std::string& problem, GemmChoice choice);

 private:
  std::string file_, machine_;
  std::map<std::string, GemmChoice> choices_;
  bool warned_ = false;
};

}  // namespace megalith::cuda
