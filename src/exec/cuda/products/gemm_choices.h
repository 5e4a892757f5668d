// The matrix-product algorithms that were measured to be the fastest, by problem: kept in a file, so that a second
// start costs nothing and the same algorithm (so the same bits) is used from run to run.
//
// The file is JSON: {"megalith gemm choices": 1, "sum": checksum of what follows, "machines": {machine: {problem:
// {"algorithm": hex digits, "ms": number}}}}. One file may hold the choices of several kinds of machine.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::cuda {

// `algorithm`: the library's own description, opaque bytes. `ms`: its time when it was chosen.
struct GemmChoice {
  std::vector<u8> algorithm;
  double ms = 0;
  bool operator==(const GemmChoice&) const = default;
};

class GemmChoices {
 public:
  // Reads `file` if it exists; an empty name: no file. Entries of another GPU or library version (`machine`) are
  // skipped. A damaged file counts as absent, with a warning. A file of another kind is left unchanged, and nothing
  // is kept, with a warning. The same if no file can be written.
  GemmChoices(std::string file, std::string machine);

  // Whether choices persist. If not, none should be made: a new measurement may choose differently, and the same run
  // would round differently.
  bool kept() const { return !file_.empty(); }
  const std::string& file() const { return file_; }
  const GemmChoice* find(const std::string& problem) const;
  // Remembers a choice and writes the file, with the entries that others wrote meanwhile (atomically: a new file
  // replaces the old one). If another process has chosen for the problem since this one read the file, its choice
  // stays, and find() returns it. So this run multiplies like later ones. A file that cannot be written is a warning,
  // once. A lock of the folder serializes processes, if the file system supports it.
  void add(const std::string& problem, GemmChoice choice);
  // All choices known here; and their replacement by another rank's. From then on nothing else is known or kept, so
  // that ranks use the same algorithms. Choices of another kind of machine are skipped.
  std::string text() const;
  void take(const std::string& text);

 private:
  void write(const std::string& problem, const GemmChoice& before);

  std::string file_, machine_;
  std::map<std::string, GemmChoice> choices_;
  bool warned_ = false;
};

}  // namespace megalith::cuda
