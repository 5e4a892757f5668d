// own_model RANK RANKS PORT FLAGS...: trains a language model with one hidden layer and 24 words on RANKS ranks.
#include <megalith/graph.h>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const auto model = [](megalith::ModelGraph& g) {  // s sequence, b batch, v vocabulary, h hidden, f ffn
    const mgl_value table = g.weight("table", {24, 8}, {.kind = MGL_EMBEDDING, .std = 0.3});
    const mgl_value words = g.copy_to_ranks(g.embedding(g.data("tokens"), table));
    const mgl_value up = g.einsum("sbh,fh->sbf", words, g.weight("up", {12, 8}, {.split = 0, .std = 0.3}));
    const mgl_value down = g.weight("down", {8, 12}, {.split = 1, .std = 0.3});
    const mgl_value hidden = g.sum_over_ranks(g.einsum("sbf,hf->sbh", g.activate(MGL_GELU, up), down));
    const mgl_value head = g.weight("head", {24, 8}, {.kind = MGL_OUTPUT, .split = 0, .std = 0.3});
    g.cross_entropy(g.einsum("sbh,vh->sbv", g.copy_to_ranks(hidden), head));
  };
  const megalith::Rank rank{std::stoi(argv[1]), std::stoi(argv[2]), "127.0.0.1", std::stoi(argv[3])};
  megalith::Session s = megalith::make_session(megalith::Config({argv + 4, argv + argc}), model, {}, rank);
  s.batches([](mgl_batch& b) {  // sample n begins with n; each next token is 5 times the previous one, plus 1
    for (int64_t i = 0; i < b.sequences * b.seq_length; ++i) {
      b.tokens[i] = i % b.seq_length ? b.labels[i - 1] : int32_t((b.first_sample + i / b.seq_length) % 24);
      b.labels[i] = (5 * b.tokens[i] + 1) % 24;
    }
  });
  while (s.iteration() < 6) std::printf("%.17g\n", s.step().loss);
  for (const float x : s.read("up")) std::printf("%.9g\n", x);
}
