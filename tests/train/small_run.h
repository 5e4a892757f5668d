// Runs of a small model for tests of saves and loads. The ranks are threads.
#pragma once
#include "files.h"
#include "options_helpers.h"

namespace megalith {

inline Options options_for(int ranks, const std::string& more) {
  Options o = read_line(std::string(kSmallRun) + "--vocab-size 101 --no-progress --lr-decay-iters 10 " + more);
  o.data.eod = 100, o.data.seq_length = 32, o.data.vocab_size = 101;
  o.parallel.world_size = ranks;
  finish_options(o);
  return o;
}

inline void flip(const std::string& path, std::size_t bit) {
  std::string bytes = read_file(path);
  bytes[bit / 8] = char(bytes[bit / 8] ^ (1 << (bit % 8)));
  write_file(path, bytes);
}

}  // namespace megalith
