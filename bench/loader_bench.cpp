// Measures the loader's tokens per second with files in the page cache.
//   loader-bench [workers] [seq-length] [million tokens]
// Writes an indexed dataset of uint16 and one of int32 to a temporary folder (documents of 1000 tokens on average).
// Then it reads micro-batches of 4 samples of each for some seconds, and prints how long next() waited.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <random>

#include "data/indexed_dataset_writer.h"
#include "data/loader.h"

namespace megalith {
namespace {

void write_dataset(const std::string& prefix, TokenType type, i64 tokens) {
  std::mt19937 random(1);
  IndexedDatasetWriter writer(prefix, type);
  std::vector<i32> document;
  for (i64 written = 0; written < tokens; written += i64(document.size())) {
    document.resize(1 + random() % 2000);
    for (i32& token : document) token = i32(random() % 50000);
    writer.add_sequence(document);
    writer.end_document();
  }
  writer.finish();
}

void measure(const std::string& prefix, TokenType type, i64 workers, i64 seq_length, i64 tokens) {
  constexpr i64 kBatch = 4;
  const DataConfig config{.data_path = {prefix}, .split = "1", .seq_length = seq_length, .vocab_size = 50000, .eod = 7};
  const Datasets sets = build_datasets(config, {.train = 8 * tokens / seq_length});
  DataLoader loader(sets.train, {.micro_batch_size = kBatch, .num_workers = workers});
  const i64 batches = sets.train->size() / kBatch;
  const std::clock_t cpu = std::clock();
  const auto began = std::chrono::steady_clock::now();
  i64 sum = 0, done = 0;
  double seconds = 0;
  for (; done < batches && seconds < 5; ++done) {
    sum += loader.next().ints("tokens")[0];
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  const double read = double(done * kBatch * seq_length), processor = double(std::clock() - cpu) / CLOCKS_PER_SEC;
  fmt::print(
      "{}: {:.1f} million tokens/s with {} workers ({:.1f} million per second of processor time), {:.2f} s of {:.2f} "
      "waited, first tokens sum to {}\n",
      name_of(type), read / seconds / 1e6, workers, read / processor / 1e6, loader.seconds_waited(), seconds, sum);
}

int run(i64 workers, i64 seq_length, i64 tokens) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("loader-bench-{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (TokenType type : {TokenType::uint16, TokenType::int32}) {
    const std::string prefix = folder / std::string(name_of(type));
    write_dataset(prefix, type, tokens);
    measure(prefix, type, workers, seq_length, tokens);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  const auto number = [&](int i, long otherwise) { return argc > i ? std::atol(argv[i]) : otherwise; };
  return megalith::run(number(1, 2), number(2, 8192), number(3, 100) * 1000000);
}
