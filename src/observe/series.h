// The series that a run's Prometheus endpoint can have: names, kinds and meanings in one table.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace megalith {

enum class SeriesKind : u8 { gauge, counter, histogram };

struct Series {
  std::string_view name;  // "megatron:loss" is there as "megatron_loss" too
  SeriesKind kind;
  std::string_view help;
};

std::span<const Series> all_series();
const Series& series_named(std::string_view name);  // error if there is none

// The second name of a series that has one; else "". Alert rules of users have the first one, linters like the second.
std::string second_name(std::string_view name);

// Upper ends of the histogram's buckets, in seconds.
std::span<const double> reduction_buckets();

using Labels = std::vector<std::pair<std::string, std::string>>;

}  // namespace megalith
