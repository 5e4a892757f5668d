// The output of `dcgmi dmon -e FIELDS`:
//   #Entity   GPUTL   TENSO
//   ID
//   GPU 0     97      0.412
// The heading repeats. A line may begin with a time that `ts` or a user's loop wrote.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "report/gpu_text.h"
#include "report/time_text.h"

namespace megalith::report {

namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// The columns of a heading. Unknown columns are empty. No columns: the line is not a heading.
std::vector<std::optional<GpuSignal>> heading_of(const std::vector<std::string>& words) {
  auto at = std::ranges::find(words, "#Entity");
  if (at == words.end() && (at = std::ranges::find(words, "Entity")) != words.end() &&
      (at == words.begin() || *(at - 1) != "#"))
    at = words.end();
  std::vector<std::optional<GpuSignal>> columns;
  if (at != words.end())
    for (++at; at != words.end(); ++at) columns.push_back(gpu_signal_of(*at));
  return columns;
}

std::optional<double> number_of(std::string_view text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(x) : std::nullopt;
}

class DmonReader {
 public:
  void take(std::string_view line) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return;
    if (auto columns = heading_of(words); !columns.empty()) {
      columns_ = std::move(columns);
      return;
    }
    const auto entity = std::ranges::find(words, "GPU");
    if (entity == words.end()) return pass_over(words);
    if (!take_sample(words, std::size_t(entity - words.begin()))) ++out_.passed_over;
  }
  GpuText take_all() {
    const bool any = std::ranges::any_of(columns_, [](const auto& c) { return c.has_value(); });
    if (!any) out_.mistake = "none of its columns is known";
    out_.has_times = has_times_;
    return std::move(out_);
  }

 private:
  // The second line of a heading has units.
  void pass_over(const std::vector<std::string>& words) {
    const bool is_heading =
        std::ranges::any_of(words, [](const std::string& w) { return w == "ID" || w == "Id" || w == "#"; });
    if (!is_heading) ++out_.passed_over;
  }

  bool take_sample(const std::vector<std::string>& words, std::size_t entity) {
    if (columns_.empty() || words.size() != entity + 2 + columns_.size()) return false;
    const auto gpu = number_of(words[entity + 1]);
    if (!gpu || *gpu != std::floor(*gpu) || *gpu < 0 || *gpu > 1e6) return false;
    std::string when;
    for (std::size_t i = 0; i < entity; ++i) when += (i == 0 ? "" : " ") + words[i];
    const auto time = when.empty() ? std::optional(double(counts_[i64(*gpu)]++)) : time_of_text(when);
    if (!time || (!out_.values.empty() && has_times_ == when.empty())) return false;
    has_times_ = !when.empty();
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (const auto x = number_of(words[entity + 2 + c]); x && columns_[c])
        out_.values.push_back({.gpu = i64(*gpu), .time = *time, .signal = *columns_[c], .value = *x});
    return true;
  }

  std::vector<std::optional<GpuSignal>> columns_;
  std::map<i64, i64> counts_;  // samples of each GPU
  bool has_times_ = false;
  GpuText out_;
};

template <class Take>
void each_line(std::string_view text, Take&& take) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    take(text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

bool looks_like_dmon(std::string_view text) {
  constexpr std::size_t kStart = 4096;
  bool found = false;
  each_line(text.substr(0, kStart), [&](std::string_view line) { found |= !heading_of(words_of(line)).empty(); });
  return found;
}

GpuText read_dmon(std::string_view text) {
  DmonReader reader;
  each_line(text, [&](std::string_view line) { reader.take(line); });
  return reader.take_all();
}

}  // namespace megalith::report
