#include "tokens/hf/cutter.h"

#include "base/check.h"

namespace megalith::hf {

Behavior behavior_of(std::string_view name, std::string_view where) {
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  fail(
      "{}: the behavior \"{}\" is not supported: use Removed, Isolated, MergedWithPrevious, MergedWithNext or "
      "Contiguous",
      where, name);
}

namespace {

struct Part {
  size_t begin, end;
  bool delimiter;
};

std::vector<Part> parts_of(size_t size, const std::vector<Span>& found, bool invert) {
  std::vector<Part> parts;
  size_t done = 0;
  for (const Span& s : found) {
    if (s.begin > done) parts.push_back({done, s.begin, invert});
    parts.push_back({s.begin, s.end, !invert});
    done = s.end;
  }
  if (done < size) parts.push_back({done, size, invert});
  return parts;
}

// Joins each part of `parts` to the previous one if `joins(part, previous)` is true.
template <class F>
std::vector<Part> joined(const std::vector<Part>& parts, F&& joins) {
  std::vector<Part> out;
  const Part* before = nullptr;
  for (const Part& p : parts) {
    if (before && joins(p, *before)) {
      out.back().end = p.end;
    } else {
      out.push_back(p);
    }
    before = &p;
  }
  return out;
}

}  // namespace

void cut(const Pieces::Piece& piece, const std::vector<Span>& found, Behavior behavior, bool invert,
         std::vector<Pieces::Piece>& out) {
  std::vector<Part> parts = parts_of(piece.end - piece.begin, found, invert);
  if (behavior == Behavior::merged_with_previous) {
    parts = joined(parts, [](const Part& p, const Part& before) { return p.delimiter && !before.delimiter; });
  } else if (behavior == Behavior::merged_with_next) {
    parts = joined(parts, [](const Part& p, const Part& before) { return !p.delimiter && before.delimiter; });
  } else if (behavior == Behavior::contiguous) {
    parts = joined(parts, [](const Part& p, const Part& before) { return p.delimiter == before.delimiter; });
  }
  for (const Part& p : parts) {
    if (p.begin == p.end || (behavior == Behavior::removed && p.delimiter)) continue;
    out.push_back({piece.begin + p.begin, piece.begin + p.end, piece.first && p.begin == 0});
  }
}

}  // namespace megalith::hf
