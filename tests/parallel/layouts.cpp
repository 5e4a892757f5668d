#include "tests/parallel/layouts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "tests/parallel/dimensions.h"
#include "tests/parallel/flags.h"

namespace megalith::parity {
namespace {

using Table = std::vector<Dimension>;
using Row = std::vector<int>;  // for each dimension the index of a value

int ranks_of(const Table& table, const Row& row) {
  int ranks = 1;
  for (size_t d = 0; d < row.size(); ++d) ranks *= table[d].values[size_t(row[d])].ranks;
  return ranks;
}

bool has_words(const std::string& flags, const char* part) { return flags.find(part) != flags.npos; }

// True if results depend on how samples are divided into micro-batches. by_micro_batch: the micro-batches of one dp
// rank. by_step: those of all dp ranks.
bool by_micro_batch(const Layout& l) {
  return has_words(l.model, " aux_loss") || has_words(l.model, "capacity-factor");
}
bool by_step(const Layout& l) { return has_words(l.model, "global_aux_loss"); }

// An expert capacity depends on the tokens of one rank. If ranks split samples, no run on one rank has the same
// capacity. Documents with equal beginnings have tokens of equal weight, so rounding decides which tokens are dropped.
bool is_comparable(const Layout& l) {
  const bool split = has_words(l.ranks, "tensor-model-parallel") || has_words(l.ranks, "context-parallel");
  const bool equal = has_words(l.model, "reset-attention-mask") && !has_words(l.model, "token-drop-policy position");
  if (has_words(l.model, "capacity-factor") && (split || equal)) return false;
  return !by_micro_batch(l) || !by_step(l) || l.data_ranks == 1;
}

Layout layout_of(const Table& table, const Row& row) {
  Layout out;
  out.size = ranks_of(table, row);
  i64 micro_batch = 1;
  for (size_t d = 0; d < row.size(); ++d) {
    const Word& v = table[d].values[size_t(row[d])];
    const std::string name = v.name;
    if (!name.empty()) out.name += (out.name.empty() ? "" : " ") + name;
    if (name == "micro2") micro_batch = 2;
    if (name.starts_with("dp")) out.data_ranks = v.ranks;
    std::string& flags = table[d].model ? out.model : out.ranks;
    if (*v.flags) flags += std::string(" ") + v.flags;
  }
  const i64 alone = by_step(out) ? micro_batch * out.data_ranks : by_micro_batch(out) ? micro_batch : 8;
  out.reference = out.model + fmt::format(" --micro-batch-size {}", alone);
  return out;
}

// Uses the program's own compatibility rules. A warning makes a layout invalid, because it says that a flag has no
// effect. Two warnings are exceptions.
bool is_allowed(const Layout& l, int most_ranks) {
  if (l.size < 2 || l.size > most_ranks || !is_comparable(l)) return false;
  try {
    const Options o = options_of(l.model + l.ranks, l.size);
    return std::ranges::none_of(o.notes, [](const std::string& n) {
      return n.starts_with("warning") && !has_words(n, "global_aux_loss has its coefficient") &&
             !has_words(n, "--num-layers 4 and");  // a RETRO model has more layers than other models
    });
  } catch (const Error&) {
    return false;
  }
}

using Pair = std::array<int, 4>;  // dimension, value, dimension, value

class Chooser {
 public:
  Chooser(const Table& table, int most_ranks) : table_(table), most_ranks_(most_ranks) {
    const auto& d = table;
    for (int a = 0; a < int(d.size()); ++a)
      for (int b = a + 1; b < int(d.size()); ++b)
        for (int x = 0; x < int(d[size_t(a)].values.size()); ++x)
          for (int y = 0; y < int(d[size_t(b)].values.size()); ++y) open_.insert({a, x, b, y});
  }

  // Draws random rows that have an uncovered pair. Returns the allowed row with the most uncovered pairs, or nothing if
  // no pair is left.
  std::optional<Layout> next() {
    constexpr int kDraws = 20000, kRefusals = 40;
    while (!open_.empty()) {
      const Pair pair = *open_.begin();
      std::vector<std::pair<size_t, Row>> found;  // rows with few enough ranks, and their uncovered pairs
      for (int draw = 0; draw < kDraws && found.size() < kRefusals; ++draw) {
        Row row = random_row();
        row[size_t(pair[0])] = pair[1], row[size_t(pair[2])] = pair[3];
        const int size = ranks_of(table_, row);
        if (size >= 2 && size <= most_ranks_) found.push_back({open_pairs(row).size(), std::move(row)});
      }
      std::sort(found.rbegin(), found.rend());
      const auto best = std::find_if(found.begin(), found.end(), [&](const auto& f) {
        return is_allowed(layout_of(table_, f.second), most_ranks_);
      });
      if (best == found.end()) {
        open_.erase(pair), ++impossible_;
        continue;
      }
      for (const Pair& p : open_pairs(best->second)) open_.erase(p), ++covered_;
      return layout_of(table_, best->second);
    }
    return {};
  }
  int covered() const { return covered_; }
  int left_out() const { return int(open_.size()); }
  int impossible() const { return impossible_; }

 private:
  Row random_row() {
    Row row;
    for (const Dimension& d : table_) row.push_back(int(random_() % d.values.size()));
    return row;
  }
  std::vector<Pair> open_pairs(const Row& row) const {
    std::vector<Pair> out;
    for (int a = 0; a < int(row.size()); ++a)
      for (int b = a + 1; b < int(row.size()); ++b)
        if (const Pair p{a, row[size_t(a)], b, row[size_t(b)]}; open_.count(p)) out.push_back(p);
    return out;
  }

  const Table& table_;
  const int most_ranks_;
  std::set<Pair> open_;
  std::mt19937 random_{1};
  int covered_ = 0, impossible_ = 0;
};

// The row of these words, or nothing if a word is not a value of the table.
std::optional<Row> row_of(const Table& table, const std::string& words) {
  Row row(table.size());
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    bool known = false;
    for (size_t d = 0; d < row.size(); ++d)
      for (size_t v = 0; v < table[d].values.size(); ++v)
        if (word == table[d].values[v].name) row[d] = int(v), known = true;
    if (!known) return {};
  }
  return row;
}

}  // namespace

Matrix matrix_of_layouts(int most_ranks, Kind kind, size_t most_rows) {
  Matrix out;
  const Table* const tables[] = {&dense_dimensions(), &expert_dimensions(), &bert_dimensions(), &t5_dimensions(),
                                 &retro_dimensions()};  // indexed by Kind
  Chooser chooser(*tables[size_t(kind)], most_ranks);
  while (out.layouts.size() < most_rows) {
    auto layout = chooser.next();
    if (!layout) break;
    out.layouts.push_back(std::move(*layout));
  }
  out.covered = chooser.covered(), out.left_out = chooser.left_out(), out.impossible = chooser.impossible();
  return out;
}

Layout layout_of(const std::string& words) {
  for (const Table* table :
       {&dense_dimensions(), &expert_dimensions(), &bert_dimensions(), &t5_dimensions(), &retro_dimensions()})
    if (const auto row = row_of(*table, words)) return layout_of(*table, *row);
  fail("a layout of '{}': not all of these words are values of dimensions of one kind", words);
}

}  // namespace megalith::parity
