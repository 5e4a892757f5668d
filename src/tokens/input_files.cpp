#include "tokens/input_files.h"

#include <glob.h>

#include <filesystem>
#include <utility>

#include "base/check.h"
#include "tokens/byte_source.h"

namespace megalith {

namespace fs = std::filesystem;

namespace {

constexpr std::pair<std::string_view, std::string_view> kOtherKinds[] = {
    {".parquet", "write it as JSON lines, for example with duckdb: COPY (FROM 'x.parquet') TO 'x.jsonl.zst'"},
    {".arrow", "write it as JSON lines, for example with the to_json of Hugging Face datasets"},
    {".bz2", "pack it by zstd or gzip instead"},
    {".xz", "pack it by zstd or gzip instead"},
    {".lz4", "pack it by zstd or gzip instead"},
    {".zip", "pack its files by zstd or gzip instead"},
    {".tar", "unpack it and name its files"},
};

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> names;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return names;
}

void add_file(const std::string& file, InputFiles& out) {
  check(!fs::is_directory(file), "--input {} is a folder: name the files in it, for example '{}/*.jsonl'", file, file);
  check(fs::exists(file), "--input {}: no such file", file);
  for (const auto& [ending, advice] : kOtherKinds) {
    const bool is = unpacked_name(file).ends_with(ending);
    check(!is, "--input {}: {} files are not read: {}", file, ending, advice);
  }
  if (fs::is_regular_file(file)) {  // opening a pipe would wait for a writer
    open_bytes(file);
    out.bytes += i64(fs::file_size(file));
  }
  out.names.push_back(file);
}

}  // namespace

InputFiles find_input_files(const std::vector<std::string>& names_and_patterns) {
  check(!names_and_patterns.empty(), "no input: give at least one file with --input");
  InputFiles found;
  for (const std::string& name : names_and_patterns) {
    const bool is_pattern = name.find_first_of("*?[") != std::string::npos && !fs::exists(name);
    if (!is_pattern) {
      add_file(name, found);
      continue;
    }
    const std::vector<std::string> files = matches(name);
    check(!files.empty(), "--input {}: no file matches this pattern", name);
    for (const std::string& file : files) add_file(file, found);
  }
  return found;
}

}  // namespace megalith
