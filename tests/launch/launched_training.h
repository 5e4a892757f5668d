// A test fixture: `megalith launch` trains a small model on the CPU.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <list>
#include <sstream>

#include "comm/socket.h"
#include "launch_folder.h"
#include "launch_run.h"

namespace megalith::test {

inline int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

class LaunchedTraining : public LaunchFolder {
 protected:
  std::vector<std::string> pretrain(const std::string& name, int iterations, const std::string& more = "") const {
    // Most CPU time of a start was the shuffle of 4 million samples of a third of the mock data.
    std::istringstream line(
        "--device cpu --num-layers 2 --hidden-size 32 --num-attention-heads 2 --seq-length 16 "
        "--micro-batch-size 1 --global-batch-size 4 --lr 1e-3 --mock-data --split 1,49,50 --vocab-size 50 "
        "--eval-iters 0 --use-distributed-optimizer --save-interval 1 --most-recent-k 2 --log-interval 1000000 " +
        more);
    std::vector<std::string> words{"--",     "pretrain-gpt", "--train-iters", std::to_string(iterations),
                                   "--save", *this / name,   "--load",        *this / name};
    for (std::string word; line >> word;) words.push_back(word);
    return words;
  }
  LaunchRun& start(std::vector<std::string> flags, const std::vector<std::string>& command,
                   const std::map<std::string, std::string>& variables = {}) {
    flags.insert(flags.end(), command.begin(), command.end());
    return runs_.emplace_back(dir(), flags, variables);
  }
  // True if rank 0's log has iteration `i`.
  static bool has_done(const LaunchRun& run, int i) {
    return run.out().find(" iteration " + std::string(8 - std::to_string(i).size(), ' ') + std::to_string(i) + "/") !=
           std::string::npos;
  }
  // The iteration of the newest checkpoint, or 0.
  int saved(const std::string& name) const {
    int newest = 0;
    std::error_code error;  // listed files may disappear during the loop
    for (std::filesystem::directory_iterator it(*this / name, error), end; !error && it != end; it.increment(error)) {
      const std::string file = it->path().filename().string();
      if (file.starts_with("iter_") && file.find('.') == std::string::npos)
        newest = std::max(newest, std::atoi(file.c_str() + 5));
    }
    return newest;
  }
  void expect_same_end(const std::string& a, const std::string& b, int iterations) const {
    char end[32];
    std::snprintf(end, sizeof end, "/iter_%07d/", iterations);
    int files = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(*this / a + end, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".safetensors")) continue;
      EXPECT_TRUE(text_of_file(entry.path().string()) == text_of_file(*this / b + end + name)) << name;
      ++files;
    }
    EXPECT_GE(files, 2);
  }

  std::list<LaunchRun> runs_;
};

inline int count_of(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

}  // namespace megalith::test
