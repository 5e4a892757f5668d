// The table of all series of a run's Prometheus endpoint: names, types and help.
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
  std::string_view name;  // "megatron:loss" is also exported as "megatron_loss"
  SeriesKind kind;
  std::string_view help;
};

std::span<const Series> all_series();
const Series& series_named(std::string_view name);  // Error if it does not exist

// The second name of a series that has one; else "". Existing alert rules use the first name, linters prefer the
// second.
std::string second_name(std::string_view name);

// Upper limits of the histogram's buckets, in seconds.
std::span<const double> reduction_buckets();

using Labels = std::vector<std::pair<std::string, std::string>>;

}  // namespace megalith
