// Reads the input files of preprocess-data in pieces of whole lines, so that memory does not grow with the files.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/byte_source.h"
#include "tokens/input_files.h"

namespace megalith {

enum class InputKind { json_lines, text_lines, whole_text };

struct InputChunk {
  InputKind kind = InputKind::json_lines;
  std::string file;
  i64 first_line = 1;  // number of the first line in its file, from 1
  std::string data;    // the text and behind it `padding` readable bytes
  i64 file_bytes = 0;  // of the file that were read for it, packed
  size_t size = 0;     // bytes of text; lines end with '\n' except maybe the last of a file

  std::string_view text() const { return {data.data(), size}; }
};

// Files named *.txt, with or without .gz or .zst behind it, are text: one document each, or with split_lines one
// document per line. All others hold JSON lines.
// A chunk is about 256 KiB of lines, or one line if it is longer, or one whole document of text.
class InputReader {
 public:
  InputReader(std::vector<std::string> files, bool split_lines, size_t padding)
      : files_(std::move(files)), split_lines_(split_lines), padding_(padding) {}

  // False when all files are read. Error naming the file if it cannot be read. One thread at a time.
  bool next(InputChunk& chunk);

 private:
  InputKind kind_of(std::string_view file) const;
  bool fill(std::string& data, size_t wanted);
  bool read_lines(InputChunk& chunk);
  bool read_whole(InputChunk& chunk);
  void finish_chunk(InputChunk& chunk);

  std::vector<std::string> files_;
  bool split_lines_;
  size_t padding_;
  size_t next_file_ = 0;
  std::unique_ptr<ByteSource> file_;  // none between files
  i64 file_bytes_ = 0;                // of file_, told by the chunks so far
  std::string carry_;                 // the begun line behind the last chunk
  i64 line_ = 1;
};

}  // namespace megalith
