#include "tests/embed/beside_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ckpt/native/native_tensors.h"
#include "comm/socket.h"
#include "settings/options.h"
#include "train/evaluation.h"
#include "train/open_data.h"

namespace megalith {

std::string quoted(const std::string& path) { return "'" + path + "'"; }

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  for (char buffer[4096]; const size_t n = std::fread(buffer, 1, sizeof buffer, pipe);) out.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << out;
  return out;
}

int free_port() { return listen_at("127.0.0.1", 0).port; }

void write_command_batches(const std::string& file, const std::string& flags, i64 samples) {
  std::vector<std::string> words = {"pretrain-gpt"};
  std::istringstream all(flags + " --mock-data");
  for (std::string word; all >> word;) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  Options o = read_options(int(argv.size()), argv.data());
  o.trains = o.model.architecture = Architecture::gpt, o.data.eod = o.model.vocab_size - 1;
  o.data.seq_length = o.model.seq_length, o.data.vocab_size = o.model.vocab_size, o.data.seed = o.train.seed;
  finish_options(o);
  const Datasets sets = open_datasets(o, {.train = samples, .valid = 0, .test = 0});
  DataLoader loader(sets.train, rank_loader_config(o, make_mesh({}), {}, Split::train, 0));
  std::ofstream out(file, std::ios::binary);
  while (loader.consumed_samples() < samples) {
    const Batch batch = loader.next();
    for (i64 s = 0; s < batch.sequences; ++s)
      for (const char* array : {"tokens", "labels"})
        out.write(reinterpret_cast<const char*>(batch.ints(array).data() + s * batch.seq_length),
                  batch.seq_length * std::streamsize(sizeof(i32)));
  }
}

std::vector<double> losses_in(const std::string& metrics_file) {
  std::vector<double> out;
  std::ifstream metrics(metrics_file);
  for (std::string line; std::getline(metrics, line);)
    if (const auto json = nlohmann::json::parse(line); json.contains("lm_loss")) out.push_back(json["lm_loss"]);
  return out;
}

void expect_same_checkpoint(const std::string& dir, const std::string& other, i64 iteration) {
  const auto a = read_native_files(open_checkpoint(dir, {.iteration = iteration}));
  const auto b = read_native_files(open_checkpoint(other, {.iteration = iteration}));
  ASSERT_EQ(a->tensors().size(), b->tensors().size());
  for (size_t i = 0; i < a->tensors().size(); ++i) {
    const TensorSpec& t = a->tensors()[i];
    const i64 n = count(t.shape);
    std::vector<std::byte> x(size_t(n * size_of(t.dtype))), y = x;
    a->read_range(i, 0, n, x.data()), b->read_range(b->at(t.name), 0, n, y.data());
    EXPECT_EQ(x, y) << t.name;
  }
}

}  // namespace megalith
