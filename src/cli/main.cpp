// megalith COMMAND [flags]
#include <malloc.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/bus_error.h"
#include "base/check.h"
#include "base/escape.h"
#include "base/mistakes.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/foreign/programs.h"
#include "cli/stack.h"
#include "comm/on_all_ranks.h"
#include "config/misspelt.h"

namespace {

using Entry = megalith::CommandEntry;

constexpr Entry kCommands[] = {
    {"pretrain-gpt", "train a GPT", megalith::command_pretrain_gpt},
    {"pretrain-bert", "train a BERT", megalith::command_pretrain_bert},
    {"pretrain-t5", "train a T5", megalith::command_pretrain_t5},
    {"pretrain-retro", "train a RETRO, or a GPT on its data", megalith::command_pretrain_retro},
    {"retro", "retro build: find the neighbours of a RETRO's samples", megalith::command_retro},
    {"launch", "start the ranks of a training run, and start them again when one fails", megalith::command_launch},
    {"preprocess-data", "text to tokens: .bin and .idx files", megalith::command_preprocess_data},
    {"merge-datasets", "several .bin and .idx pairs to one", megalith::command_merge_datasets},
    {"generate", "continue a prompt with a checkpoint or a Hugging Face model", megalith::command_generate},
    {"evaluate", "loss and perplexity of a checkpoint or a Hugging Face model on a dataset",
     megalith::command_evaluate},
    {"convert", "checkpoints between native, Megatron's and Hugging Face's formats", megalith::command_convert},
    {"inspect", "what is in a checkpoint or an .idx file; differences of two", megalith::command_inspect},
    {"blame", "the documents of a run's incident, and their text", megalith::command_blame},
    {"plan", "find the fastest layouts of a model on a number of GPUs: memory, time, cost, the command",
     megalith::command_plan},
    {"calibrate", "measure this machine's device: a file of facts that plans are made from",
     megalith::command_calibrate},
    {"report", "a run's curves, times and incidents as one HTML file", megalith::command_report},
    {"compare", "two runs: flags, losses, speed", megalith::command_compare},
    {"recipes", "published runs by name: list, or show one", megalith::command_recipes},
    {"submit", "a training command as a job of Slurm, Kubernetes or docker", megalith::command_submit},
    {"flags", "print all training flags as a Markdown page", megalith::command_flags},
    {"completion", "print a script that completes command lines: bash, zsh", megalith::command_completion},
    {"manual", "print the manual page", megalith::command_manual},
};

int usage(std::FILE* to) {
  fmt::print(to, "usage: megalith COMMAND [flags]      megalith COMMAND --help      megalith --version\n\n");
  for (const Entry& e : kCommands) fmt::print(to, "  {:<18} {}\n", e.name, e.what);
  return to == stdout ? 0 : 2;
}

int version() {
  for (const std::string& part : megalith::stack_parts()) fmt::print("{}\n", part);
  return 0;
}

// A checkpoint of many ranks has many files. Rank 0 of many ranks has a connection to each.
void allow_many_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int run(const Entry& e, int argc, const char* const* argv) {
  try {
    return e.run(argc, argv);
  } catch (const megalith::ReportedByOtherRank&) {
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "megalith {}: {}\n", e.name, megalith::told(error));
    return 1;
  }
}

// With at most two letters wrong, in a name that is longer than such a mistake. Empty if no command is near.
std::string nearest_command(const std::string& name) {
  constexpr megalith::i64 kSlips = 2, kLeast = 6;
  for (const Entry& e : kCommands)
    if (megalith::i64(e.name.size()) >= kLeast && megalith::config::edit_distance(name, e.name) <= kSlips)
      return std::string(e.name);
  return {};
}

// The name is no command of ours: it may be another program for the same job, or a mistake.
int run_other(const std::vector<std::string>& words) {
  const std::string name = megalith::escape_controls(words[0]);
  const megalith::NamedProgram program = megalith::find_program(words);
  for (const Entry& e : kCommands) {
    if (e.name != program.command) continue;
    std::vector<const char*> argv = {words[0].c_str()};
    for (const std::string& word : program.words) argv.push_back(word.c_str());
    return run(e, int(argv.size()), argv.data());
  }
  const std::string near = nearest_command(name);
  if (program.instead.empty() && !near.empty())
    fmt::print(stderr, "megalith: there is no command '{}': the nearest is {} (megalith --help lists all)\n", name,
               near);
  else if (program.instead.empty())
    fmt::print(stderr, "megalith: there is no command '{}': megalith --help lists them\n", name);
  else
    fmt::print(stderr, "megalith {}: {}\n", name, megalith::escape_controls(program.instead));
  return 2;
}

}  // namespace

std::span<const megalith::CommandEntry> megalith::all_commands() { return kCommands; }

int main(int argc, char** argv) {
  std::signal(SIGXFSZ,
              SIG_IGN);  // then a file-size limit is a failed write, like a full disk, and does not end the process
  megalith::tell_bus_errors();
  mallopt(M_MMAP_THRESHOLD, 1 << 20);  // large buffers return to the system immediately, as the memory plan assumes
  allow_many_files();
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") return usage(stdout);
  if (name == "--version") return version();
  for (const Entry& e : kCommands) {
    if (e.name != name) continue;
    const int skipped = argc > 2 && megalith::is_script_of(name, argv[2]) ? 2 : 1;
    return run(e, argc - skipped, argv + skipped);
  }
  return argc < 2 || name.empty() ? usage(stderr) : run_other({argv + 1, argv + argc});
}
