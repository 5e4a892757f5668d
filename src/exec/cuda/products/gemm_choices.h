// The fastest matrix-product algorithms by problem, as they were measured. They are kept in a file, so a second start
// costs nothing. Each run uses the same algorithm, so it has the same bits.
//
// The file is JSON: {"megalith gemm choices": 1, "sum": checksum of the rest, "machines": {machine: {problem:
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

  // Whether choices persist. If not, nothing should be measured: a second measurement may choose another algorithm, and
  // the same run would round differently.
  bool kept() const { return !file_.empty(); }
  const std::string& file() const { return file_; }
  const GemmChoice* find(const std::string& problem) const;
  // Keeps a choice and writes the file, including entries that other processes wrote meanwhile. The write is atomic: a
  // new file replaces the old one. If another process chose for the problem since this one read the file, its choice
  // stays, and find() returns it. So this run uses the same algorithm as later ones. If the file cannot be written,
  // there is one warning. A lock of the folder serializes processes, if the file system supports it.
  void add(const std::string& problem, GemmChoice choice);
  // All choices known here, and their replacement by another rank's. After the replacement nothing else is known or
  // kept. So all ranks use the same algorithms. Choices of another kind of machine are skipped.
  std::string text() const;
  void take(const std::string& text);

 private:
  void write(const std::string& problem, const GemmChoice& before);

  std::string file_, machine_;
  std::map<std::string, GemmChoice> choices_;
  bool warned_ = false;
};

}  // namespace megalith::cuda
