// tokenizer-bench FILE TYPE [MODEL | VOCAB MERGES]: encodes the documents of FILE, separated by zero bytes, on one
// thread. Prints bytes, tokens, CPU seconds and MiB/s. bench/tokenizer_peers.py compares it with other programs.
#include <ctime>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "base/log.h"
#include "tokens/tokenizer.h"

namespace megalith {
namespace {

double cpu_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

void run(int argc, char** argv) {
  check(argc >= 3, "usage: tokenizer-bench FILE TYPE [MODEL | VOCAB MERGES]");
  std::ifstream in(argv[1], std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  TokenizerConfig config{.type = argv[2]};
  if (argc == 4) config.tokenizer_model = config.vocab_file = argv[3];
  if (argc == 5) config.vocab_file = argv[3], config.merge_file = argv[4];
  const double start = cpu_seconds();
  const auto tokenizer = make_tokenizer(config);
  const auto encoder = tokenizer->encoder();
  const double loaded = cpu_seconds();
  size_t tokens = 0;
  std::vector<i32> ids;
  for (size_t i = 0; i < all.size();) {
    const size_t end = std::min(all.find('\0', i), all.size());
    ids.clear();
    encoder->encode(std::string_view(all).substr(i, end - i), ids);
    tokens += ids.size();
    i = end + 1;
  }
  const double seconds = cpu_seconds() - loaded;
  log::say("{} bytes, {} tokens, {:.3f} s, {:.1f} MiB/s, loaded in {:.2f} s", all.size(), tokens, seconds,
           double(all.size()) / 1048576 / seconds, loaded - start);
}

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  try {
    megalith::run(argc, argv);
  } catch (const std::exception& e) {
    megalith::log::warn("{}", e.what());
    return 1;
  }
}
