#include "report/gpu_join.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "report/html.h"

namespace megalith::report {

namespace {

std::string short_host(const std::string& host) {
  std::string out = host.substr(0, host.find('.'));
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return out;
}

std::set<std::string> hosts_of(const RunFiles& run) {
  std::set<std::string> hosts;
  for (const RankOfRun& r : run.ranks.ranks) hosts.insert(short_host(r.host));
  return hosts;
}

// The host of a file that has no host: the run's only host, or the host in the file's name.
std::optional<std::string> host_of_file(const std::string& path, const std::set<std::string>& hosts) {
  if (hosts.size() == 1) return *hosts.begin();
  const std::string name = short_host(std::filesystem::path(path).stem().string());
  std::optional<std::string> found;
  for (const std::string& host : hosts)
    if (!host.empty() && name.find(host) != std::string::npos && (!found || host.size() > found->size())) found = host;
  return found;
}

// The rank with this GPU; -1: none.
i64 rank_of(const RunFiles& run, const GpuSamples& gpu, const std::string& host) {
  const auto& ranks = run.ranks.ranks;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (short_host(ranks[r].host) != host) continue;
    const bool by_bus = !gpu.bus.empty() && !ranks[r].bus.empty();
    if (by_bus ? gpu.bus == plain_bus(ranks[r].bus) : gpu.gpu >= 0 && gpu.gpu == ranks[r].gpu) return i64(r);
  }
  return -1;
}

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// Adds a file's GPUs. Adds a note about GPUs that are not in the run.
void add_file(const RunFiles& run, const GpuFile& file, const std::string& given, GpuJoin& out) {
  const std::set<std::string> hosts = hosts_of(run);
  std::set<std::string> strange;
  i64 others = 0;
  for (const GpuSamples& gpu : file.gpus) {
    std::string host = short_host(given.empty() ? gpu.host : given);
    if (host.empty() && !hosts.empty()) {
      const auto found = host_of_file(file.path, hosts);
      if (!found) {
        out.notes.push_back(
            fmt::format("{}: it does not tell its host, and the run has several ({}): give --dcgm HOST={}", file.path,
                        joined(hosts), file.path));
        return;
      }
      host = *found;
    }
    JoinedGpu one{.host = host, .gpu = gpu.gpu, .samples = &gpu};
    if (!hosts.empty()) {
      one.rank = rank_of(run, gpu, host);
      if (!hosts.contains(host)) strange.insert(host);
      if (one.rank < 0) {
        ++others;
        continue;
      }
      one.gpu = run.ranks.ranks[std::size_t(one.rank)].gpu;
    }
    out.gpus.push_back(one);
  }
  for (std::size_t s = 0; s < kNumGpuSignals; ++s) out.has_[s] |= file.has[s];
  if (!strange.empty())
    out.notes.push_back(fmt::format(
        "{}: {} not in the run, whose hosts are {}", file.path,
        strange.size() == 1 ? "host " + joined(strange) + " is" : "hosts " + joined(strange) + " are", joined(hosts)));
  else if (others > 0)
    out.notes.push_back(fmt::format("{}: {} of {} GPUs are not of the run", file.path, others, file.gpus.size()));
}

// The time at the end of a line. Empty if the file has none.
std::optional<double> time_at(const MetricCurve* times, i64 iteration) {
  if (!times) return {};
  const auto it = std::ranges::lower_bound(times->points, iteration, {}, &CurvePoint::iteration);
  if (it == times->points.end() || it->iteration != iteration || !std::isfinite(it->value)) return {};
  return it->value;
}

// Half of the time between samples, at least half a second.
double room_of(const GpuSamples& gpu) {
  constexpr double kLeast = 0.5;
  const std::size_t n = gpu.samples.size();
  const double between = n > 1 ? (gpu.samples.back().time - gpu.samples.front().time) / double(n - 1) : 0;
  return std::max(kLeast, between / 2);
}

// The GPU with the lowest clock, or with the lowest activity if there are no clocks. -1: none.
i64 lowest_clock(const std::vector<JoinedGpu>& gpus, double begin, double end) {
  i64 found = -1;
  double least = INFINITY;
  for (const JoinedGpu& g : gpus) {
    const GpuTimes t = times_of(*g.samples, begin - room_of(*g.samples), end + room_of(*g.samples));
    const double x = std::isfinite(t.clock) ? t.clock : t.tensor;
    if (std::isfinite(x) && x < least) least = x, found = &g - gpus.data();
  }
  return found;
}

void find_slowest(const RunFiles& run, const GpuJoin& join, SlowGpu& out) {
  if (const OwnWorkLine* own = run.ranks.own_work_at(out.slow.iteration)) {
    out.rank = std::ranges::max_element(own->ms) - own->ms.begin(), out.by_own_work = true;
    const auto it = std::ranges::find(join.gpus, out.rank, &JoinedGpu::rank);
    if (it != join.gpus.end()) out.joined = it - join.gpus.begin();
    return;
  }
  out.joined = lowest_clock(join.gpus, out.begin, out.end);
  if (out.joined >= 0) out.rank = join.gpus[std::size_t(out.joined)].rank;
}

SlowGpu look_at(const RunFiles& run, const GpuJoin& join, const SlowIteration& slow, double end) {
  SlowGpu out{.slow = slow, .end = end};
  out.begin = end - slow.ms / 1e3 * double(std::max<i64>(1, slow.iteration - slow.before));
  find_slowest(run, join, out);
  if (out.joined < 0) return out;
  const GpuSamples& samples = *join.gpus[std::size_t(out.joined)].samples;
  const double room = room_of(samples);
  out.around = times_of(samples, out.begin - room, out.end + room);
  const auto first = std::ranges::lower_bound(samples.samples, out.begin - room, {}, &GpuSample::time);
  const double before = first == samples.samples.begin() ? 0 : (*(first - 1))[GpuSignal::xid];
  for (const i64 xid : out.around.xids)
    if (double(xid) != before) out.new_xids.push_back(xid);
  return out;
}

void compare_times(const GpuFile& file, GpuJoin& out) {
  double begin = INFINITY, end = -INFINITY;
  for (const GpuSamples& g : file.gpus)
    begin = std::min(begin, g.samples.front().time), end = std::max(end, g.samples.back().time);
  if (begin <= out.end && end >= out.begin) return;
  out.notes.push_back(
      fmt::format("{}: its samples are from {} to {}, the run's lines from {} to {}: --dcgm-offset moves the samples "
                  "by seconds, if the clocks differ",
                  file.path, date_text(begin), date_text(end), date_text(out.begin), date_text(out.end)));
}

}  // namespace

GpuJoin join_gpus(const RunFiles& run, const std::vector<GpuFile>& files, const std::vector<std::string>& hosts) {
  GpuJoin out;
  const MetricCurve* times = run.metrics.find("time");
  std::vector<double> known;
  if (times)
    for (const CurvePoint& p : times->points)
      if (std::isfinite(p.value)) known.push_back(p.value);
  if (known.empty()) {
    out.notes.push_back("the metrics file tells no times: the samples of GPUs cannot be joined to iterations");
    return out;
  }
  out.begin = *std::ranges::min_element(known), out.end = *std::ranges::max_element(known);
  if (run.ranks.ranks.empty())
    out.notes.push_back("no ranks.jsonl is there: which GPUs are the run's is not known, and all are taken");
  else if (std::ranges::all_of(run.ranks.ranks, [](const RankOfRun& r) { return r.gpu < 0 && r.bus.empty(); }))
    out.notes.push_back("the run has no GPUs");
  for (std::size_t i = 0; i < files.size(); ++i) {
    const GpuFile& file = files[i];
    if (file.passed_over > 0)
      out.notes.push_back(fmt::format("{}: {} line{} could not be read", file.path, file.passed_over,
                                      file.passed_over == 1 ? "" : "s"));
    if (!file.has_times)
      out.notes.push_back(
          fmt::format("{}: it tells no times: the last sample is taken as of the file's last change, "
                      "or the first as of --dcgm-begin",
                      file.path));
    compare_times(file, out);
    add_file(run, file, i < hosts.size() ? hosts[i] : "", out);
  }
  std::ranges::stable_sort(out.gpus, {}, &JoinedGpu::rank);
  for (const SlowIteration& slow : slow_iterations(run.metrics.find("iteration_ms")))
    if (const auto end = time_at(times, slow.iteration)) out.slow.push_back(look_at(run, out, slow, *end));
  return out;
}

}  // namespace megalith::report
