// The memory of a run must equal the prediction of --dry-run within 2% or 1 MiB.
#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include <fmt/ranges.h>

#include "tests/golden.h"
#include "tests/places.h"
#include "workshop.h"

namespace megalith::test {
namespace {

struct MemoryCase {
  const char* name;
  const char* flags;
  bool gpt2 = false;    // files of the GPT-2 tokenizer, generated documents
  bool large = false;   // without a save, which would write gigabytes
  bool resumes = true;  // also measure a resumed run; not if files are mapped
};
void PrintTo(const MemoryCase& c, std::ostream* out) { *out << c.name; }

constexpr MemoryCase kMemoryCases[] = {
    {"f32_20MB", "--num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 32 --micro-batch-size 2"},
    {"f32_100MB", "--num-layers 4 --hidden-size 256 --num-attention-heads 4 --seq-length 128 --micro-batch-size 6"},
    {"bf16_100MB_gqa_rope",
     "--bf16 --num-layers 4 --hidden-size 256 --num-attention-heads 4 --num-query-groups 2 --seq-length 128 "
     "--micro-batch-size 6 --position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear"},
    {"f32_alibi_dropout_long",
     "--num-layers 3 --hidden-size 128 --num-attention-heads 4 --seq-length 512 --micro-batch-size 2 "
     "--position-embedding-type alibi --hidden-dropout 0.1 --attention-dropout 0.1 --reset-attention-mask"},
    {"f32_460MB", "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 32 --micro-batch-size 2"},
    {"bf16_1500MB",
     "--bf16 --num-layers 12 --hidden-size 768 --num-attention-heads 12 --seq-length 16 --micro-batch-size 1", false,
     true},
    {"bf16_torch_dist",
     "--bf16 --num-layers 4 --hidden-size 384 --num-attention-heads 4 --seq-length 64 --micro-batch-size 2 "
     "--ckpt-format torch_dist",
     false, false, false},
    {"f32_gpt2_tokenizer",
     "--num-layers 2 --hidden-size 128 --num-attention-heads 4 --seq-length 128 --micro-batch-size 2", true},
};

class Memory : public Workshop, public ::testing::WithParamInterface<MemoryCase> {
 protected:
  // The load addresses of code and data decide which pages hold both. That changes the memory by half a MiB from run to
  // run. This process disables address randomization, and the programs that it starts inherit that.
  Memory() { ::personality(ADDR_NO_RANDOMIZE); }
  ~Memory() override { std::filesystem::remove(file_); }
  // A copy of the program in a file system in memory; empty if nothing can run there. A touched page of a file also
  // maps other pages that are in the cache. These depend on how a file came from the disk: up to 2 MiB more or less.
  static std::string in_memory() {
    std::error_code none;
    const std::string to = fmt::format("/dev/shm/megalith-memory-{}", getpid());
    std::filesystem::copy_file(std::string(kBinaryDir) + "/bin/megalith", to, none);
    if (!none && access(to.c_str(), X_OK) == 0) return to;
    std::filesystem::remove(to, none);
    return "";
  }
  Ran measured(const std::string& line) {
    RunLimits limits;
    limits.file = file_;
    const Ran ran = megalith(line, limits);
    EXPECT_TRUE(ran.ok()) << line << "\n" << ran.err;
    return ran;
  }
  // The path of a GPT-2 tokenizer file if it exists, else of a small tokenizer of the same kind.
  static std::string gpt2(const std::string& file) {
    const std::string whole = std::string(kSharedDir) + "/data/gpt2-" + file;
    return std::filesystem::exists(whole) ? whole : golden("tokenizers/" + file);
  }
  // A run that saves to `save` and resumes from `load`.
  std::string line(const std::string& save, const std::string& load, const std::string& more) {
    std::string base = fmt::format(
        "{} --lr 1e-3 --eval-iters 1 --eval-interval 1 --log-interval 1 --no-progress "
        "--override-opt-param-scheduler {}",
        GetParam().flags, more);
    if (!GetParam().large) base += fmt::format(" --save-interval 1 --save {} --load {}", *this / save, *this / load);
    if (GetParam().gpt2)
      return "pretrain-gpt --mock-data --tokenizer-type GPT2BPETokenizer --vocab-file " + gpt2("vocab.json") +
             " --merge-file " + gpt2("merges.txt") + " " + base;
    return "pretrain-gpt --tokenizer-type ByteTokenizer --split 80,10,10 --data-path " + data() + " " + base;
  }
  // Compares with the median of three runs if the first one is too far away. The kernel counts a process's pages on
  // each CPU, and adds the counts late. So a single figure also depends on the load of the machine.
  void check(const std::string& save, const std::string& load, const std::string& more) {
    const std::string plan = measured(line(save, load, more + " --dry-run")).out;
    const double said = last_number(plan, "\n  total "), pages = last_number(plan, "\n  pages of the data ");
    const double off = std::max(0.02 * said, double(1 << 20)), unread = std::isnan(pages) ? 0 : pages;
    const auto holds = [&](double peak) { return peak <= said + off && peak >= said - off - unread; };
    std::vector<double> peaks;
    while (peaks.empty() || (peaks.size() < 3 && !holds(peaks.front()))) {
      std::filesystem::remove_all(*this / save);
      peaks.push_back(double(measured(line(save, load, more)).peak_bytes));
    }
    const std::string all = fmt::format("bytes of each run: {}\n{}", fmt::join(peaks, ", "), plan);
    std::ranges::sort(peaks);
    const double peak = peaks[peaks.size() / 2];
    EXPECT_LE(peak, said + off) << all;
    EXPECT_GE(peak, said - off - unread) << "so few steps may not read all pages of the data; " << all;
  }

  const std::string file_ = in_memory();
};

TEST_P(Memory, PeakIsWhatDryRunSaid) {
  check("first", "first", "--train-iters 2");
  if (!GetParam().large && GetParam().resumes) check("second", "first", "--train-iters 3");  // resume the same model
}

INSTANTIATE_TEST_SUITE_P(Runs, Memory, ::testing::ValuesIn(kMemoryCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace megalith::test
