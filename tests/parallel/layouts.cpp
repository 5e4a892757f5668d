#include "tests/parallel/layouts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "tests/parallel/flags.h"

namespace megalith::parity {
namespace {

struct Value {
  const char* name;
  const char* flags;
  int ranks = 1;  // the mesh grows by this factor
};
struct Dimension {
  bool model;  // one rank gets these flags too
  std::vector<Value> values;
};

// A new way to share the work is a new row here.
const std::vector<Dimension>& dimensions() {
  static const std::vector<Dimension> all = {
      {false,
       {{"tp1", ""},
        {"tp2", "--tensor-model-parallel-size 2", 2},
        {"tp4", "--tensor-model-parallel-size 4", 4},
        {"tp8", "--tensor-model-parallel-size 8", 8}}},
      {false,
       {{"cp1", ""},
        {"cp2", "--context-parallel-size 2", 2},
        {"cp2-a2a", "--context-parallel-size 2 --cp-comm-type a2a", 2},
        {"cp4", "--context-parallel-size 4", 4},
        {"cp4-a2a", "--context-parallel-size 4 --cp-comm-type a2a", 4},
        {"cp2-ring", "--context-parallel-size 2 --cp-comm-type p2p", 2},
        {"cp4-ring", "--context-parallel-size 4 --cp-comm-type p2p", 4},
        {"cp8-ring", "--context-parallel-size 8 --cp-comm-type p2p", 8}}},
      {false,
       {{"pp1", ""},
        {"pp2", "--pipeline-model-parallel-size 2", 2},
        {"pp2-zb", "--pipeline-model-parallel-size 2 --pipeline-schedule zero-bubble", 2},
        {"pp2-vp2", "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2", 2},
        {"pp2-vp2-zb",
         "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --pipeline-schedule zero-bubble",
         2},
        {"pp2-uneven", "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 1", 2},
        {"pp2-vp2-group4",
         "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
         "--microbatch-group-size-per-virtual-pipeline-stage 4",
         2},
        {"pp2-drawn", "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout E|tt|(t|)*2|L", 2},
        {"pp4-drawn", "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout Et|t*2|t|L", 4},
        {"pp4-auto", "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout auto", 4},
        {"pp4", "--pipeline-model-parallel-size 4", 4},
        {"pp4-zb", "--pipeline-model-parallel-size 4 --pipeline-schedule zero-bubble", 4}}},
      {false, {{"dp1", ""}, {"dp2", "", 2}, {"dp4", "", 4}}},
      {false, {{"sp-off", ""}, {"sp", "--sequence-parallel"}}},
      {false,
       {{"plain", ""},
        {"overlap", "--overlap-grad-reduce"},
        {"distopt", "--use-distributed-optimizer"},
        {"distopt-small", "--use-distributed-optimizer --ddp-bucket-size 4000"},
        {"distopt-overlap",
         "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --ddp-bucket-size 4000"}}},
      {false, {{"micro1", "--micro-batch-size 1"}, {"micro2", "--micro-batch-size 2"}}},
      {false,
       {{"keep", ""},
        {"again-parts", "--recompute-granularity selective --recompute-modules mlp layernorm"},
        {"again-layers", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2"},
        {"again-block", "--recompute-granularity full --recompute-method block --recompute-num-layers 3"}}},
      {true,
       {{"groups8", ""},
        {"groups4", "--num-query-groups 4"},
        {"groups2", "--num-query-groups 2"},
        {"groups1", "--num-query-groups 1"}}},
      {true, {{"tied", ""}, {"untied", "--untie-embeddings-and-output-weights"}}},
      {true,
       {{"no-drop", ""},
        {"hidden-drop", "--hidden-dropout 0.1"},
        {"both-drop", "--hidden-dropout 0.1 --attention-dropout 0.1"}}},
      {true,
       {{"stream", ""},
        {"documents", "--reset-position-ids --reset-attention-mask --eod-mask-loss"},
        {"eod-mask", "--eod-mask-loss"}}},
      {true,
       {{"gpt2", ""},
        {"llama", "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear"},
        {"qwen",
         "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear --add-qkv-bias "
         "--qk-layernorm"},
        {"mtp",
         "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear --mtp-num-layers 2 "
         "--mtp-loss-scaling-factor 0.5"},
        {"mtp-again",
         "--position-embedding-type alibi --embedding-layernorm --mtp-num-layers 2 --mtp-use-repeated-layer "
         "--mtp-loss-scaling-factor 0.5"},
        {"neox", "--position-embedding-type rope --rotary-percent 0.5 --parallel-residual --sliding-window 5"},
        {"bloom", "--position-embedding-type alibi --embedding-layernorm"},
        {"gemma",
         "--position-embedding-type rope --geglu --normalization RMSNorm --disable-bias-linear --apply-layernorm-1p "
         "--scale-embedding"},
        // With the usual seed a gradient is a difference of nearly equal numbers: rounding alone makes 1e-5 of its
        // norm.
        {"olmo2",
         "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear --qk-layernorm "
         "--qk-layernorm-across-heads --norm-block-output --seed 8"}}},
  };
  return all;
}

using Row = std::vector<int>;  // a value of each dimension

int ranks_of(const Row& row) {
  int ranks = 1;
  for (size_t d = 0; d < row.size(); ++d) ranks *= dimensions()[d].values[size_t(row[d])].ranks;
  return ranks;
}

Layout layout_of(const Row& row) {
  Layout out;
  out.size = ranks_of(row);
  for (size_t d = 0; d < row.size(); ++d) {
    const Value& v = dimensions()[d].values[size_t(row[d])];
    out.name += std::string(d ? " " : "") + v.name;
    std::string& flags = dimensions()[d].model ? out.model : out.ranks;
    if (*v.flags) flags += std::string(" ") + v.flags;
  }
  return out;
}

// Asked of the program's own table: a warning is no obstacle, but for flags that have no effect.
bool is_allowed(const Layout& l, int most_ranks) {
  if (l.size < 2 || l.size > most_ranks) return false;
  try {
    const Options o = options_of(l.model + l.ranks, l.size);
    return std::none_of(o.notes.begin(), o.notes.end(), [](const std::string& n) { return n.starts_with("warning"); });
  } catch (const Error&) {
    return false;
  }
}

using Pair = std::array<int, 4>;  // dimension, value, dimension, value

class Chooser {
 public:
  explicit Chooser(int most_ranks) : most_ranks_(most_ranks) {
    const auto& d = dimensions();
    for (int a = 0; a < int(d.size()); ++a)
      for (int b = a + 1; b < int(d.size()); ++b)
        for (int x = 0; x < int(d[size_t(a)].values.size()); ++x)
          for (int y = 0; y < int(d[size_t(b)].values.size()); ++y) open_.insert({a, x, b, y});
  }

  // Of some random rows around an open pair the allowed one with the most open pairs; nothing when no pair is left.
  std::optional<Layout> next() {
    constexpr int kDraws = 20000, kRefusals = 40;
    while (!open_.empty()) {
      const Pair pair = *open_.begin();
      std::vector<std::pair<size_t, Row>> found;  // few enough ranks; with the open pairs
      for (int draw = 0; draw < kDraws && found.size() < kRefusals; ++draw) {
        Row row = random_row();
        row[size_t(pair[0])] = pair[1], row[size_t(pair[2])] = pair[3];
        const int size = ranks_of(row);
        if (size >= 2 && size <= most_ranks_) found.push_back({open_pairs(row).size(), std::move(row)});
      }
      std::sort(found.rbegin(), found.rend());
      const auto best = std::find_if(found.begin(), found.end(),
                                     [&](const auto& f) { return is_allowed(layout_of(f.second), most_ranks_); });
      if (best == found.end()) {
        open_.erase(pair), ++impossible_;
        continue;
      }
      for (const Pair& p : open_pairs(best->second)) open_.erase(p), ++covered_;
      return layout_of(best->second);
    }
    return {};
  }
  int covered() const { return covered_; }
  int impossible() const { return impossible_; }

 private:
  Row random_row() {
    Row row;
    for (const Dimension& d : dimensions()) row.push_back(int(random_() % d.values.size()));
    return row;
  }
  std::vector<Pair> open_pairs(const Row& row) const {
    std::vector<Pair> out;
    for (int a = 0; a < int(row.size()); ++a)
      for (int b = a + 1; b < int(row.size()); ++b)
        if (const Pair p{a, row[size_t(a)], b, row[size_t(b)]}; open_.count(p)) out.push_back(p);
    return out;
  }

  int most_ranks_;
  std::set<Pair> open_;
  std::mt19937 random_{1};
  int covered_ = 0, impossible_ = 0;
};

}  // namespace

Matrix matrix_of_layouts(int most_ranks) {
  Matrix out;
  Chooser chooser(most_ranks);
  while (auto layout = chooser.next()) out.layouts.push_back(std::move(*layout));
  out.covered = chooser.covered(), out.impossible = chooser.impossible();
  return out;
}

Layout layout_of(const std::string& words) {
  Row row(dimensions().size());
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    bool known = false;
    for (size_t d = 0; d < row.size(); ++d)
      for (size_t v = 0; v < dimensions()[d].values.size(); ++v)
        if (word == dimensions()[d].values[v].name) row[d] = int(v), known = true;
    check(known, "a layout's word '{}' is no value of a dimension", word);
  }
  return layout_of(row);
}

}  // namespace megalith::parity
