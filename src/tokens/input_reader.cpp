#include "tokens/input_reader.h"

#include <algorithm>

namespace megalith {

static constexpr size_t kChunkBytes = size_t{1} << 18;

InputKind InputReader::kind_of(std::string_view file) const {
  if (!unpacked_name(file).ends_with(".txt")) return InputKind::json_lines;
  return split_lines_ ? InputKind::text_lines : InputKind::whole_text;
}

// Reads up to `wanted` more bytes; false at the end of the file.
bool InputReader::fill(std::string& data, size_t wanted) {
  const size_t had = data.size();
  data.resize(had + wanted);
  const size_t got = file_->read(data.data() + had, wanted);
  data.resize(had + got);
  return got == wanted;
}

// Both return false at the end of the file.
bool InputReader::read_whole(InputChunk& chunk) {
  while (fill(chunk.data, std::max(kChunkBytes, chunk.data.size()))) {
  }
  return false;
}

bool InputReader::read_lines(InputChunk& chunk) {
  std::swap(chunk.data, carry_);
  carry_.clear();
  chunk.first_line = line_;
  while (fill(chunk.data, std::max(kChunkBytes, chunk.data.size()))) {
    const size_t newline = chunk.data.rfind('\n');
    if (newline == std::string::npos) continue;  // a long line: read more
    carry_.assign(chunk.data, newline + 1);
    chunk.data.resize(newline + 1);
    line_ += std::count(chunk.data.begin(), chunk.data.end(), '\n');
    return true;
  }
  return false;
}

void InputReader::finish_chunk(InputChunk& chunk) {
  chunk.file_bytes = file_->file_bytes() - file_bytes_;
  file_bytes_ += chunk.file_bytes;
  chunk.size = chunk.data.size();
  chunk.data.resize(chunk.size + padding_);
}

bool InputReader::next(InputChunk& chunk) {
  for (;;) {
    if (!file_) {
      if (next_file_ == files_.size()) return false;
      file_ = open_bytes(files_[next_file_++]);
      file_bytes_ = 0;
      line_ = 1;
    }
    chunk.file = files_[next_file_ - 1];
    chunk.kind = kind_of(chunk.file);
    chunk.first_line = 1;
    chunk.data.clear();
    const bool more = chunk.kind == InputKind::whole_text ? read_whole(chunk) : read_lines(chunk);
    finish_chunk(chunk);
    if (!more) file_.reset();
    if (chunk.size > 0 || chunk.kind == InputKind::whole_text) return true;
  }
}

}  // namespace megalith
