// Shared by the tests of this folder: a temporary folder, a small vocabulary, random text.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/check.h"
#include "tests/error_of.h"
#include "tests/places.h"
#include "tokens/byte_alphabet.h"
#include "tokens/tokenizer.h"
#include "tokens/unicode.h"

namespace megalith {

struct TempDir {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("megalith-tokens-" + std::to_string(getpid()) + "-" + std::to_string(next()++));
  TempDir() { std::filesystem::create_directories(path); }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return file(name);
  }

 private:
  static int& next() {
    static int n = 0;
    return n;
  }
};

inline std::string read_all(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string shared(const std::string& file) { return std::string(kSharedDir) + "/" + file; }

// GPT-2's files, for tests that run only with has_shared.
inline TokenizerConfig gpt2_config(bool special_in_text = true) {
  return {.type = "GPT2BPETokenizer",
          .vocab_file = shared("data/gpt2-vocab.json"),
          .merge_file = shared("data/gpt2-merges.txt"),
          .special_tokens_in_text = special_in_text};
}

inline bool has_shared(const std::string& file) { return std::filesystem::exists(shared(file)); }

// 256 bytes and the merges of "the", " the" and runs of "ab"; ids 0..255 are the bytes, then merges, then
// <|endoftext|>.
inline TokenizerConfig tiny_config(const TempDir& dir) {
  std::string vocab = "{", merges = "#version: 0.2\n";
  int id = 0;
  const auto add = [&](const std::string& token) {
    const std::string escaped = token == "\"" || token == "\\" ? "\\" + token : token;
    vocab += (id ? ", \"" : "\"") + escaped + "\": " + std::to_string(id);
    ++id;
  };
  for (u32 c : byte_alphabet()) {
    std::string letter;
    append_utf8(letter, c);
    add(letter);
  }
  const std::pair<std::string, std::string> rules[] = {
      {"t", "h"}, {"th", "e"}, {"Ġ", "the"}, {"a", "b"}, {"ab", "ab"}, {"abab", "abab"}, {"abababab", "abababab"}};
  for (const auto& [left, right] : rules) {
    merges += left + " " + right + "\n";
    add(left + right);
  }
  add("<|endoftext|>");
  return {.type = "GPT2BPETokenizer",
          .vocab_file = dir.write("vocab.json", vocab + "}"),
          .merge_file = dir.write("merges.txt", merges)};
}

inline std::string random_bytes(std::mt19937& random, size_t size) {
  std::string s(size, '\0');
  for (char& c : s) c = char(random());
  return s;
}

}  // namespace megalith
