#include "workshop.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>

#include "tests/places.h"

namespace megalith::test {

namespace fs = std::filesystem;

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void spit(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

Workshop::Workshop() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = fmt::format("megalith-{}-{}-{}", test->test_suite_name(), test->name(), getpid());
  std::ranges::replace(name, '/', '-');
  dir_ = (fs::temp_directory_path() / name).string();
  fs::remove_all(dir_);
  fs::create_directories(dir_);
}

Workshop::~Workshop() { fs::remove_all(dir_); }

// Lines of 6 to 17 words of the license, drawn with a fixed seed. The text is the same in every version of the project.
const std::string& Workshop::text() {
  if (!text_.empty()) return text_;
  std::istringstream license(slurp(std::string(kSourceDir) + "/LICENSE"));
  const std::vector<std::string> words(std::istream_iterator<std::string>(license), {});
  std::mt19937 draw(1);  // the standard defines its sequence; distributions depend on the library
  while (text_.size() < 512'000)
    for (size_t left = 6 + draw() % 12; left > 0; --left)
      text_ += words[draw() % words.size()] + (left > 1 ? ' ' : '\n');
  return text_;
}

const std::string& Workshop::data() {
  if (!data_.empty()) return data_;
  spit(*this / "corpus.txt", text());
  must("preprocess-data --tokenizer-type ByteTokenizer --append-eod --split-lines --input " + *this / "corpus.txt" +
       " --output-prefix " + *this / "corpus");
  return data_ = *this / "corpus_text_document";
}

std::string Workshop::pretrain(const std::string& more) {
  return "pretrain-gpt --num-layers 2 --hidden-size 32 --num-attention-heads 2 --seq-length 32 --micro-batch-size 2 "
         "--tokenizer-type ByteTokenizer --lr 2e-3 --eval-iters 1 --no-progress --data-path " +
         data() + " " + more;
}

Ran Workshop::must(const std::string& line) {
  Ran ran = megalith(line);
  EXPECT_EQ(ran.exit_code, 0) << line << "\n" << ran.err;
  return ran;
}

std::map<std::string, std::string> digits(const std::string& metrics_path) {
  std::map<std::string, std::string> out;
  std::ifstream in(metrics_path);
  for (std::string line; std::getline(in, line);) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) continue;
    for (const auto& [key, value] : object.items())
      if (!key.starts_with("iteration_ms") && key != "samples_per_second" && key != "tokens_per_second" &&
          key != "data_wait_ms" && key != "time" && key != "tflops" && key != "mfu" && !key.ends_with("_spikes"))
        out[fmt::format("{} {}", object["iteration"].dump(), key)] = value.dump();
  }
  return out;
}

double last_number(const std::string& text, const std::string& label) {
  const size_t at = text.rfind(label);
  return at == std::string::npos ? std::nan("") : std::atof(text.c_str() + at + label.size());
}

void expect_refused(const Ran& ran, const std::string& part) {
  EXPECT_GT(ran.exit_code, 0) << (ran.signal ? fmt::format("ended by signal {}", ran.signal) : ran.out);
  EXPECT_LT(ran.cpu_seconds, 2) << ran.err;
  // Matches "megalith COMMAND: why", or "N things stop this:" and one line each. The command that runs may follow.
  static const std::regex answer("(^|\n)(megalith[^:\n]*: [^\n]*\n(  [^\n]*\n)*(Without [^\n]*\nmegalith [^\n]*\n)?)$");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(ran.err, found, answer)) << "no message, or more than one: " << ran.err;
  EXPECT_NE(found[2].str().find(part), std::string::npos) << ran.err;
}

}  // namespace megalith::test
