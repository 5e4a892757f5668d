// --split: divides the sequences of a dataset into train, valid and test.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "base/dtype.h"

namespace megalith {

enum class Split : u8 { train, valid, test };
inline constexpr std::array<const char*, 3> kSplitNames = {"train", "valid", "test"};
inline constexpr std::array kSplits = {Split::train, Split::valid, Split::test};
inline const char* name_of(Split s) { return kSplitNames[int(s)]; }

inline constexpr const char* kDefaultSplit = "969, 30, 1";

// Consecutive elements [begin, end).
struct Range {
  i64 begin = 0, end = 0;
  i64 size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// For each split the fractions [begin, end) of the dataset; empty for weight zero.
struct Fraction {
  double begin = 0, end = 0;
  bool operator==(const Fraction&) const = default;
};
using SplitMatrix = std::array<std::optional<Fraction>, 3>;
using SplitRanges = std::array<std::optional<Range>, 3>;

// "969, 30, 1" -> {(0, 0.969), (0.969, 0.999), (0.999, 1)}. One to three numbers; missing ones are 0. Error if there
// are more, if one is not a number, or if all are 0.
SplitMatrix parse_split(const std::string& text);

// Divides 0..elements-1; bounds are rounded half to even, like Python's round.
SplitRanges split_ranges(const SplitMatrix& matrix, i64 elements);

}  // namespace megalith
