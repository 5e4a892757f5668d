// Building the indices of a blend: seconds and peak memory.
//   index-bench [samples] [datasets] [seq-length] [tokens per document] [cache folder]
// Makes .idx files with random document lengths (exponential) in a temporary folder. Weights decrease as 1/rank, and
// each dataset has as many tokens as its samples need in one epoch. Then it builds the training set as a run does.
// The .bin files are sparse: no token is read.
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/threads.h"
#include "data/build_datasets.h"
#include "data/indexed_format.h"
#include "data/token_type.h"

namespace megalith {
namespace {

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

template <class T>
void put(std::ofstream& file, const std::vector<T>& values) {
  file.write(reinterpret_cast<const char*>(values.data()), std::streamsize(values.size() * sizeof(T)));
}

// PREFIX.idx and PREFIX.bin of at least `tokens` tokens of uint8.
i64 write_files(const std::string& prefix, i64 tokens, i64 mean, u32 seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> length(1.0 / double(mean));
  std::vector<i32> lengths;
  std::vector<i64> pointers, documents{0};
  i64 end = 0;
  while (end < tokens) {
    lengths.push_back(1 + i32(length(random)));
    pointers.push_back(end), documents.push_back(i64(lengths.size()));
    end += lengths.back();
  }
  std::ofstream idx(prefix + ".idx", std::ios::binary);
  idx.write(reinterpret_cast<const char*>(kIndexMagic.data()), kIndexMagic.size());
  put(idx, std::vector<u64>{kIndexVersion});
  put(idx, std::vector<TokenType>{TokenType::uint8});
  put(idx, std::vector<u64>{lengths.size(), documents.size()});
  put(idx, lengths), put(idx, pointers), put(idx, documents);
  std::ofstream(prefix + ".bin").close();
  std::filesystem::resize_file(prefix + ".bin", u64(end));
  return i64(lengths.size());
}

// Peak memory of this process in bytes.
double peak_memory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) * 1024;
}

int run(i64 samples, i64 datasets, i64 seq_length, i64 mean, const std::string& cache) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("index-bench-{}", ::getpid());
  std::filesystem::create_directories(folder);
  DataConfig config{.split = "1", .seq_length = seq_length, .data_cache_path = cache};
  double total = 0;
  for (i64 d = 0; d < datasets; ++d) total += 1 / double(d + 1);
  std::vector<std::string> prefixes;
  std::vector<double> weights;
  for (i64 d = 0; d < datasets; ++d) {
    weights.push_back(1 / double(d + 1) / total);
    prefixes.push_back(folder / fmt::format("d{}", d));
    config.data_path.push_back(fmt::format("{}", weights.back())), config.data_path.push_back(prefixes.back());
  }
  std::vector<i64> documents(std::size_t(datasets), 0);
  parallel_tasks(datasets, [&](i64 d) {
    const auto i = std::size_t(d);
    documents[i] =
        write_files(prefixes[i], i64(weights[i] * double(samples) * double(seq_length) * 1.01) + 1000, mean, u32(d));
  });
  i64 all_documents = 0;
  for (i64 n : documents) all_documents += n;
  fmt::print("{} samples of {} tokens, {} datasets of together {} documents, {} threads{}\n", samples, seq_length,
             datasets, all_documents, num_threads(), cache.empty() ? "" : ", kept in " + cache);
  fmt::print("peak memory before: {:.2f} GB\n", peak_memory() / 1e9);
  std::fflush(stdout);
  for (int round = 0; round < (cache.empty() ? 1 : 2); ++round) {
    rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    const auto began = std::chrono::steady_clock::now();
    const Datasets sets = build_datasets(config, {.train = samples});
    const double wall = seconds_since(began);
    getrusage(RUSAGE_SELF, &after);
    const auto cpu = [](const rusage& u) {
      return double(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + double(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
    };
    fmt::print("{} {} samples: {:.1f} s, {:.1f} s of processor time, peak memory {:.2f} GB\n",
               round == 0 ? "built" : "opened", sets.train->size(), wall, cpu(after) - cpu(before),
               peak_memory() / 1e9);
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  const auto number = [&](int i, long otherwise) { return argc > i ? std::atol(argv[i]) : otherwise; };
  return megalith::run(number(1, 1000000000), number(2, 100), number(3, 2048), number(4, 1000),
                       argc > 5 ? argv[5] : "");
}
