// Reads the input files of preprocess-data in pieces of whole lines, so that memory does not grow with the files.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

enum class InputKind { json_lines, text_lines, whole_text };

struct InputChunk {
  InputKind kind = InputKind::json_lines;
  std::string file;
  i64 first_line = 1;  // number of the first line in its file, from 1
  std::string data;    // the text and behind it `padding` readable bytes
  size_t size = 0;     // bytes of text; lines end with '\n' except maybe the last of a file

  std::string_view text() const { return {data.data(), size}; }
};

// Files named *.txt are text: one document each, or with split_lines one document per line. All others hold JSON lines.
// A chunk is about 1 MiB of lines, or one line if it is longer, or one whole document of text.
class InputReader {
 public:
  // Fails at once if one of the files cannot be opened.
  InputReader(std::vector<std::string> files, bool split_lines, size_t padding);

  bool next(InputChunk& chunk);  // false when all files are read; one thread at a time

  i64 total_bytes() const { return total_bytes_; }  // as far as known: pipes count as 0

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  InputKind kind_of(const std::string& file) const;
  bool fill(std::string& data, size_t wanted);
  bool read_lines(InputChunk& chunk);
  void read_whole(InputChunk& chunk);
  void open_next();

  std::vector<std::string> files_;
  bool split_lines_;
  size_t padding_;
  i64 total_bytes_ = 0;
  size_t next_file_ = 0;
  File file_;
  std::string carry_;  // the begun line behind the last chunk
  i64 line_ = 1;
};

}  // namespace megalith
