// parity MODE [ROWS], under mpirun: trains a small model under a matrix of layouts, in one set of processes.
// It compares each layout with its reference, which usually runs on one rank.
//   layouts   every layout of the matrix against one rank, at every step
//   experts   the same for mixtures of experts, multi-head latent attention and multi-token prediction
//   bert      the same for BERT
//   t5        the same for T5
//   retro     the same for RETRO
//   again     the same layout twice: the same bits
//   ahead     new weights are gathered during the next forward: the same bits and checkpoints as without
//   offload   optimizer state in host memory: the same bits and checkpoints as without
//   activations  activations in host memory: the same bits and checkpoints as without
//   beside    gradients are reduced during the backward, or at its end: the same bits
//   bf16      gradients are reduced in bf16: the difference from f32 is not zero, and within the rounding bound
//   fp16      training in fp16 with a changing loss scale: the same steps are skipped as on one rank
//   mistakes  the plan omits one relayout, of each kind in turn: the test must detect it (with ROWS: each kind once)
//   checkpoints  saved under one layout and loaded under another: the same tensors, and the same next step
//   expert-checkpoints  the same for a mixture of experts
//   one       the layouts in the arguments, each in the words of the matrix
//   list      prints the matrix
// ROWS: the number of matrix rows to run, those with the most pairs of values first. Default: all.
#include <fmt/ranges.h>
#include <omp.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ranges>

#include "base/check.h"
#include "base/log.h"
#include "tests/parallel/activations.h"
#include "tests/parallel/ahead.h"
#include "tests/parallel/checkpoints.h"
#include "tests/parallel/compare.h"
#include "tests/parallel/encoders.h"
#include "tests/parallel/experts.h"
#include "tests/parallel/flags.h"
#include "tests/parallel/hall.h"
#include "tests/parallel/halves.h"
#include "tests/parallel/mistakes.h"
#include "tests/parallel/offload.h"

namespace megalith::parity {
namespace {

constexpr int kRanks = 8;

// Layouts with one kind of parallelism each, so that a fault is easy to locate. They run in addition to the matrix
// rows.
const char* const kPlain[] = {"tp2 micro2",    "tp2 sp llama",        "tp8 groups2 llama", "cp2 micro2",
                              "cp4-a2a llama", "cp2-ring llama",      "cp8-ring",          "dp2 untied",
                              "dp4 distopt",   "dp4 distopt-overlap", "pp2 micro2",        "pp2-zb untied",
                              "pp2-vp2 llama", "pp4 both-drop"};
const char* const kAgain[] = {
    "tp2 dp2 sp distopt-overlap llama groups2 both-drop",
    "dp4 distopt-overlap micro2 untied documents",
    "tp2 cp2 dp2 sp distopt gpt2 both-drop",
    "tp4 cp2 overlap qwen groups2",
    "cp4-a2a dp2 distopt-overlap neox hidden-drop",
    "cp4-ring tp2 sp distopt-overlap llama groups2 both-drop documents",
    "tp8 sp bloom again-parts",
    "pp4 dp2 overlap llama groups2 both-drop",
    "pp2 dp2 tp2 sp distopt llama both-drop documents",
    "pp2-vp2 dp2 cp2 distopt-small untied hidden-drop",
    "pp2-vp2-zb dp4 distopt-overlap gpt2",
    "pp4-zb dp2 distopt neox both-drop",
    "pp2-zb tp2 cp2 again-layers qwen",
    "pp2-uneven dp2 distopt-overlap bloom micro2",
    "pp2-vp2-zb dp2 mtp-again distopt-small",
    "dp4 ep4 many aux both-drop distopt-overlap",
    "tp2 dp4 etp1 ep8 bias all-aux gated mtp2 again-moe",
    "tp2 cp2 dp2 etp2 ep2 few two-aux mla documents distopt",
    "pp2-vp2-zb dp2 tp2 etp1 ep4 grouped mla-plain mtp1 both-drop distopt",
    "cp2-ring pp2 dp2 ep4 many cap-probs sigmoid z shared",
    "tp2 cp2 dp2 sp distopt-overlap bert both-drop",
    "pp2-vp2-zb dp2 tp2 sp bert-post distopt both-drop",
    "cp2-a2a pp2 dp2 bert-one untied",
    "pp3-border dp2 t5-relative distopt both-drop",
    "pp2-vp2 tp2 dp2 sp t5 distopt-overlap both-drop",
    "pp4-zb tp2 sp t5-v10 hidden-drop",
    "pp3-e1 cp2 t5-rope overlap both-drop",
    "tp2 dp4 distopt-overlap retro both-drop",
    "tp4 dp2 distopt retro-llama encoder-drop",
};
const char* const kBeside[] = {
    "dp4 distopt-small llama",
    "pp2 dp2 micro2",
    "pp2 dp4 distopt-small untied",
    "pp2-vp2 dp2 cp2 distopt-small hidden-drop",
    "pp2-vp2 dp2 tp2 sp llama",
    "pp2-zb dp2 distopt-small groups2",
    "pp2-vp2-zb dp2 cp2 distopt",
    "pp2-vp2-group4 dp2 distopt-small",
    "pp2-drawn dp2 distopt-small sp tp2",
    "pp4-zb dp2 again-parts",
    "pp2-zb dp4 mtp distopt-small",
    "pp2-zb dp2 tp2 etp1 ep2 eight mtp2 bias distopt-small",
};
const char* const kNarrow[] = {"dp4", "dp4 distopt-overlap llama", "cp2 dp2 overlap",
                               "tp2 dp2 pp2 sp distopt llama groups2", "pp2-vp2 dp2 overlap untied"};
int layouts(const Hall& at) {
  std::vector<Layout> all;
  for (const char* words : kPlain) all.push_back(layout_of(words));
  return compare_matrix(at, Kind::dense, std::move(all));
}

// Compares jobs 2i and 2i + 1, which must have the same bits. Returns the number of pairs that differ.
int compare_pairs(const Hall& at, const std::vector<Job>& jobs, const char* how) {
  const std::vector<Outcome> outcomes = run_jobs(at.ranks, jobs, at.folder);
  int bad = 0;
  for (size_t i = 0; i < outcomes.size(); i += 2) {
    const bool same = same_bits(outcomes[i], outcomes[i + 1]);
    bad += !same;
    at.say("{}  {} ranks, {}  {}", same ? "same bits" : "FAIL", jobs[i].size, how, jobs[i].name);
  }
  return bad;
}

int again(const Hall& at) {
  std::vector<Job> jobs;
  for (const char* words : kAgain) {
    const Layout l = layout_of(words);
    for (int time = 0; time < 2; ++time) jobs.push_back({l.name, l.model + l.ranks, l.size});
  }
  return compare_pairs(at, jobs, "twice");
}

int beside(const Hall& at) {
  std::vector<Job> jobs;
  for (const char* words : kBeside)
    for (const char* precision : {"", " --grad-reduce-in-bf16"}) {
      const Layout l = layout_of(words);
      const std::string flags = l.model + l.ranks + precision;
      jobs.push_back({l.name + precision, flags, l.size});
      jobs.push_back({l.name + precision, flags + " --overlap-grad-reduce", l.size});
    }
  return compare_pairs(at, jobs, "beside and at the end");
}

// Each of n terms is rounded, and so is their sum. With `u = 2^-9`, half of bf16's epsilon, the error is at most `u
// (sum of the terms' norms + norm of the sum)`. The terms of one gradient do not cancel. So the sum of their norms is
// at most sqrt(n) times the norm of the sum.
int bf16(const Hall& at) {
  constexpr double kRounding = 0x1p-9;
  std::vector<Job> jobs;
  for (const char* words : kNarrow) {
    const Layout l = layout_of(words);
    const std::string flags = l.model + l.ranks;
    jobs.push_back({l.name, flags + " --accumulate-allreduce-grads-in-fp32", l.size});
    for (int time = 0; time < 2; ++time) jobs.push_back({l.name, flags + " --grad-reduce-in-bf16", l.size});
  }
  const std::vector<Outcome> outcomes = run_jobs(at.ranks, jobs, at.folder);
  int bad = 0;
  for (size_t i = 0; i < outcomes.size(); i += 3) {
    const Distance d = distance(outcomes[i + 1], outcomes[i]);
    const double bound = kRounding * (1 + std::sqrt(jobs[i].size));
    const bool same = same_bits(outcomes[i + 1], outcomes[i + 2]);
    const bool rounds = d.norm > kRounding / 1000;
    const bool good = same && rounds && d.worst() <= bound && outcomes[i].losses[0] == outcomes[i + 1].losses[0];
    bad += !good;
    at.say("{}  {} ranks  loss {:.0e}  norm {:.0e}  validation {:.0e} (at most {:.0e}){}  {}", good ? "ok  " : "FAIL",
           jobs[i].size, d.loss, d.norm, d.validation, bound, same ? "  same bits" : "", jobs[i].name);
  }
  return bad;
}

int list() {
  for (const Kind kind : {Kind::dense, Kind::experts, Kind::bert, Kind::t5, Kind::retro}) {
    const Matrix matrix = matrix_of_layouts(kRanks, kind);
    for (const Layout& l : matrix.layouts) fmt::print("{} ranks  {}\n", l.size, l.name);
    fmt::print("{} layouts, {} pairs of values, {} impossible\n", matrix.layouts.size(), matrix.covered,
               matrix.impossible);
  }
  return 0;
}

const std::map<std::string, int (*)(const Hall&)> kModes = {
    {"layouts", layouts},
    {"experts", experts},
    {"bert", bert},
    {"t5", t5},
    {"retro", retro},
    {"again", again},
    {"ahead", ahead},
    {"offload", offload},
    {"activations", activations},
    {"beside", beside},
    {"bf16", bf16},
    {"fp16", fp16},
    {"mistakes", mistakes},
    {"checkpoints", checkpoints},
    {"expert-checkpoints", expert_checkpoints},
};

size_t rows_of(const std::string& word) {
  const bool is_number = !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
  check(is_number, "ROWS is '{}': give a number of rows, or leave it out for all", word);
  return std::stoul(word);
}

// `words`: the layouts for the mode `one`; ROWS or nothing for the other modes.
int run(const std::string& mode, const std::vector<std::string>& words) {
  if (mode == "list") return list();
  const Place place = find_place([](const char* name) -> const char* { return std::getenv(name); });
  const auto ranks = join(place, {.timeout_seconds = 120, .silence_seconds = 30});
  log::mute(), omp_set_num_threads(1);
  const std::string folder =
      ranks->all_gather((std::filesystem::temp_directory_path() / fmt::format("parity-{}", getpid())).string())[0];
  if (place.rank == 0) std::filesystem::create_directories(folder), make_dataset(folder + "/words");
  use_dataset(folder + "/words");
  ranks->barrier();
  make_neighbors(*ranks);
  ranks->barrier();
  Hall at{*ranks, folder};
  try {
    std::vector<Layout> named;
    if (mode == "one")
      for (const std::string& w : words) named.push_back(layout_of(w));
    else if (!words.empty())
      at.most_rows = rows_of(words[0]);
    const int bad = mode == "one" ? compare(at, named) : kModes.at(mode)(at);
    ranks->barrier();
    if (place.rank == 0) std::filesystem::remove_all(folder);
    return bad == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    if (place.rank == 0) std::filesystem::remove_all(folder);
    if (ranks->failed(e.what())) return 1;
    throw;
  }
}

}  // namespace
}  // namespace megalith::parity

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto& modes = megalith::parity::kModes;
  if (!(modes.contains(mode) || mode == "one" || mode == "list") || (mode == "one" ? argc < 3 : argc > 3)) {
    fmt::print(stderr, "usage: mpirun -n 8 parity {} [ROWS] | one LAYOUT..., or parity list\n",
               fmt::join(std::views::keys(modes), " | "));
    return 2;
  }
  try {
    return megalith::parity::run(mode, {argv + 2, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "parity {}: {}\n", mode, e.what());
    return 1;
  }
}
