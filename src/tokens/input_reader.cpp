#include "tokens/input_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"

namespace megalith {

namespace fs = std::filesystem;

static constexpr size_t kChunkBytes = size_t{1} << 20;

InputReader::InputReader(std::vector<std::string> files, bool split_lines, size_t padding)
    : files_(std::move(files)), split_lines_(split_lines), padding_(padding) {
  check(!files_.empty(), "no input: give at least one file with --input");
  for (const std::string& file : files_) {
    check(!fs::is_directory(file), "--input {} is a folder: name the files in it", file);
    check(fs::exists(file), "--input {}: no such file", file);
    if (!fs::is_regular_file(file)) continue;  // opening a pipe would wait for its writer
    const File opened(std::fopen(file.c_str(), "rb"));
    check(opened != nullptr, "--input {} cannot be opened: {}", file, std::strerror(errno));
    total_bytes_ += i64(fs::file_size(file));
  }
}

InputKind InputReader::kind_of(const std::string& file) const {
  if (!file.ends_with(".txt")) return InputKind::json_lines;
  return split_lines_ ? InputKind::text_lines : InputKind::whole_text;
}

void InputReader::open_next() {
  const std::string& file = files_[next_file_++];
  file_.reset(std::fopen(file.c_str(), "rb"));
  check(file_ != nullptr, "--input {} cannot be opened: {}", file, std::strerror(errno));
  carry_.clear();
  line_ = 1;
}

// Reads up to `wanted` more bytes; false at the end of the file.
bool InputReader::fill(std::string& data, size_t wanted) {
  const size_t had = data.size();
  data.resize(had + wanted);
  const size_t got = std::fread(data.data() + had, 1, wanted, file_.get());
  check(!std::ferror(file_.get()), "--input {} cannot be read: {}", files_[next_file_ - 1], std::strerror(errno));
  data.resize(had + got);
  return got == wanted;
}

void InputReader::read_whole(InputChunk& chunk) {
  while (fill(chunk.data, std::max(kChunkBytes, chunk.data.size()))) {
  }
  file_.reset();
}

bool InputReader::read_lines(InputChunk& chunk) {
  std::swap(chunk.data, carry_);
  carry_.clear();
  while (fill(chunk.data, std::max(kChunkBytes, chunk.data.size()))) {
    const size_t newline = chunk.data.rfind('\n');
    if (newline == std::string::npos) continue;  // a long line: read on
    carry_.assign(chunk.data, newline + 1);
    chunk.data.resize(newline + 1);
    chunk.first_line = line_;
    line_ += std::count(chunk.data.begin(), chunk.data.end(), '\n');
    return true;
  }
  file_.reset();
  chunk.first_line = line_;
  return !chunk.data.empty();
}

bool InputReader::next(InputChunk& chunk) {
  for (;;) {
    if (!file_) {
      if (next_file_ == files_.size()) return false;
      open_next();
    }
    chunk.file = files_[next_file_ - 1];
    chunk.kind = kind_of(chunk.file);
    chunk.first_line = 1;
    chunk.data.clear();
    bool some = true;
    if (chunk.kind == InputKind::whole_text) {
      read_whole(chunk);
    } else {
      some = read_lines(chunk);
    }
    if (!some) continue;
    chunk.size = chunk.data.size();
    chunk.data.resize(chunk.size + padding_);
    return true;
  }
}

}  // namespace megalith
