// Reads the input files of preprocess-data in chunks of whole lines, so memory does not depend on the files' size.
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
  std::string data;    // the text, then `padding` readable bytes
  i64 file_bytes = 0;  // compressed bytes of the file that were read for it
  size_t size = 0;     // bytes of text; lines end with '\n', except maybe the last of a file

  std::string_view text() const { return {data.data(), size}; }
};

// Files named *.txt, also with .gz or .zst, are text: one document each, or with split_lines one document per line.
// All others hold JSON lines. A chunk is about 256 KiB of lines, one longer line, or one whole text document.
class InputReader {
 public:
  InputReader(std::vector<std::string> files, bool split_lines, size_t padding)
      : files_(std::move(files)), split_lines_(split_lines), padding_(padding) {}

  // False after the last file. Error, naming the file, if it cannot be read. Only one thread may call it at a time.
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
  i64 file_bytes_ = 0;                // of file_, in all chunks so far
  std::string carry_;                 // the incomplete line after the last chunk
  i64 line_ = 1;
};

}  // namespace megalith
