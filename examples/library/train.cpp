// train_cpp BATCHES DIR FLAGS...: trains three steps, saves, and trains three more in a new session.
#include <cstdio>
#include <fstream>
#include <megalith/megalith.hpp>

int main(int argc, char** argv) {
  std::ifstream file(argv[1], std::ios::binary);
  const auto fill = [&](mgl_batch& b) {  // each sample of the file has its tokens, then its labels
    file.seekg(b.first_sample * b.seq_length * 8);
    for (int64_t at = 0; at < b.sequences * b.seq_length; at += b.seq_length)
      for (int32_t* ids : {b.tokens, b.labels}) file.read(reinterpret_cast<char*>(ids + at), b.seq_length * 4);
  };
  megalith::Config config({argv + 3, argv + argc});
  for (int part = 0; part < 2; ++part) {
    if (part == 1) config.set("load", argv[2]);
    megalith::Session s(config);
    s.batches(fill);
    while (s.iteration() < 3 * (part + 1)) {
      const mgl_step_result r = s.step();
      std::printf("%d %.17g %.9g\n", int(r.iteration), r.loss, s.gradient("decoder.final_layernorm.weight")[0]);
    }
    s.save(argv[2]);
  }
}
