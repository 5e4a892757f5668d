// session_rank RANK RANKS PORT BATCHES DIR FLAGS...: three steps, a save, and three more in a new session. Prints each
// step's loss, the loss of an evaluation, and a sum of all tensors. Writes one tensor of the first and of the last
// stage.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <megalith/megalith.hpp>

int main(int argc, char** argv) {
  std::ifstream file(argv[4], std::ios::binary);
  const auto fill = [&](mgl_batch& b) {  // a sample of the file: its tokens, then its labels
    file.seekg(b.first_sample * b.seq_length * 8);
    for (int64_t at = 0; at < b.sequences * b.seq_length; at += b.seq_length)
      for (int32_t* ids : {b.tokens, b.labels}) file.read(reinterpret_cast<char*>(ids + at), b.seq_length * 4);
  };
  const megalith::Rank rank{std::atoi(argv[1]), std::atoi(argv[2]), "127.0.0.1", std::atoi(argv[3])};
  try {
    megalith::Config config({argv + 6, argv + argc});
    for (int part = 0; part < 2; ++part) {
      if (part == 1) config.set("load", argv[5]);
      megalith::Session s(config, {}, rank);
      s.batches(fill);
      while (s.iteration() < 3 * (part + 1)) std::printf("%.17g\n", s.step().loss);
      s.save(argv[5]);
      if (part == 0) continue;
      std::printf("%.17g\n", s.evaluate(fill, 2));
      double sum = 0;
      for (int64_t i = 0; i < s.tensor_count(); ++i)
        for (const float x : s.read(s.tensor(i).name)) sum += double(x) * double(i + 1);
      std::printf("%.17g\n", sum);
      for (const int64_t i : {int64_t{0}, s.tensor_count() - 1}) {
        const std::vector<float> twos(size_t(s.tensor(i).elements), 2);
        s.write(s.tensor(i).name, twos);
        if (s.read(s.tensor(i).name) != twos) return std::puts("what was written is not what is read"), 1;
      }
    }
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "rank %d: %s\n", rank.rank, e.what()), 1;
  }
}
