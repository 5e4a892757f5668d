#include "tests/parallel/flags.h"

#include <random>
#include <sstream>

#include "cli/retro_build.h"
#include "complete/complete_options.h"
#include "data/indexed_dataset_writer.h"

namespace megalith::parity {
namespace {

constexpr i64 kVocabulary = 100;  // padded to different sizes with different tensor-parallel sizes

const char* const kRun =
    "pretrain-gpt --device cpu --num-layers 4 --hidden-size 32 --num-attention-heads 8 --seq-length 16 "
    "--global-batch-size 8 --lr 1e-3 --lr-warmup-iters 2 --weight-decay 0.1 "
    "--vocab-size 100 --make-vocab-size-divisible-by 4 --tokenizer-type NullTokenizer --split 80,20,0 --num-workers 0 "
    "--log-interval 1 --eval-interval 5 --eval-iters 2 --no-progress --seed 7 "
    "--init-method-std 0.1";

std::string& dataset() {
  static std::string prefix = "none";
  return prefix;
}

// The RETRO project with the neighbours of the dataset's samples.
std::string project() { return dataset() + "-neighbors"; }

bool has(const std::string& flags, const char* part) { return flags.find(part) != flags.npos; }

// The arguments of a run on the dataset, or on mock data.
std::vector<std::string> words_of(const std::string& more) {
  std::istringstream in(kRun + (has(more, "--mock-data") ? " " : " --data-path " + dataset() + " ") + more);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  if (!has(more, "--train-iters")) words.insert(words.end(), {"--train-iters", std::to_string(kIterations)});
  if (has(more, "--architecture retro")) words.insert(words.end(), {"--retro-project-dir", project()});
  return words;
}

std::vector<const char*> pointers(const std::vector<std::string>& words) {
  std::vector<const char*> out;
  for (const std::string& word : words) out.push_back(word.c_str());
  return out;
}

}  // namespace

Options options_of(const std::string& more, int ranks) {
  const std::vector<std::string> words = words_of(more);
  const std::vector<const char*> argv = pointers(words);
  Options options = read_options(int(argv.size()), argv.data());
  options.parallel.world_size = ranks;
  complete_options(options, read_sources(options));
  return options;
}

void use_dataset(const std::string& prefix) { dataset() = prefix; }

// Token sequences that a model can learn. Most documents are much shorter than a sample; some are longer.
void make_dataset(const std::string& prefix) {
  IndexedDatasetWriter writer(prefix, TokenType::uint16);
  std::mt19937 random(3);
  for (int d = 0; d < 300; ++d) {
    std::vector<i32> tokens(2 + random() % 24);
    i32 word = i32(random() % (kVocabulary - 1));
    for (i32& t : tokens) t = word, word = i32((3 * word + i32(random() % 3)) % (kVocabulary - 1));
    tokens.back() = i32(kVocabulary - 1);  // end of document
    writer.add_sequence(tokens), writer.end_document();
  }
  writer.finish();
}

void make_neighbors(Ranks& ranks) {
  const std::vector<std::string> words = words_of("--architecture retro --num-layers 6 --retro-chunk-length 4");
  const std::vector<const char*> argv = pointers(words);
  retro_build(int(argv.size()), argv.data(), ranks);
}

}  // namespace megalith::parity
