// Files of BPE ranks. If the input begins with '[', it is Megatron's JSON list. If it begins with '{', it is GPT-2's
// two files: vocab.json, a zero byte, merges.txt. Otherwise it is tiktoken's lines.
#include <fmt/format.h>

#include "fuzz/json_files.h"
#include "fuzz/target.h"
#include "fuzz/tools.h"

namespace megalith::fuzz::ranks {

namespace {

std::string base64(u8 byte) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return {kDigits[byte >> 2], kDigits[(byte & 3) << 4], '=', '='};
}

TokenizerConfig gpt2_files(std::string_view input, const std::string& scratch) {
  const size_t cut = std::min(input.find('\0'), input.size());
  write(scratch, input.substr(0, cut));
  write(scratch + ".merges", input.substr(std::min(cut + 1, input.size())));
  return {.type = "GPT2BPETokenizer", .vocab_file = scratch, .merge_file = scratch + ".merges"};
}

TokenizerConfig rank_file(std::string_view input, const std::string& scratch) {
  write(scratch, input);
  const bool list = input.starts_with('[');
  TokenizerConfig c{.type = list ? "TikTokenizer" : "Llama3Tokenizer", .tokenizer_model = scratch};
  c.tiktoken_pattern = list ? "v2" : "o200k";
  c.tiktoken_num_special = 8, c.vocab_size = 8 + 258;
  return c;
}

}  // namespace

void feed(std::string_view input, const std::string& scratch) {
  use(*make_tokenizer(input.starts_with('{') ? gpt2_files(input, scratch) : rank_file(input, scratch)), kText);
}

std::vector<std::string> seeds() {
  std::string lines, list = "[";
  for (int b = 0; b < 256; ++b) {
    lines += fmt::format("{} {}\n", base64(u8(b)), b);
    list += fmt::format("{}{{\"rank\":{},\"token_bytes\":\"{}\"}}", b ? "," : "", b, base64(u8(b)));
  }
  return {lines + "dGg= 256\ndGhl 257\n",
          list + R"(,{"rank":256,"token_bytes":"dGg="},{"rank":257,"token_bytes":"dGhl"}])",
          byte_vocab().dump() + '\0' + "#version: 0.2\nt h\nth e\n"};
}

}  // namespace megalith::fuzz::ranks
