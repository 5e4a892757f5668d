// Reads a file of facts.
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <set>

#include "base/check.h"
#include "facts/facts_file.h"

namespace megalith {

namespace {

// A map in the file. Keys that nobody requests are an error.
class Section {
 public:
  Section(const YAML::Node& map, std::string where, std::string prefix = {}, bool optional = false)
      : map_(map), where_(std::move(where)), prefix_(std::move(prefix)), optional_(optional) {
    check(map.IsMap(), "hardware file {}: {} must be keys with values", where_,
          prefix_.empty() ? "it" : prefix_.substr(0, prefix_.size() - 1));
  }

  YAML::Node find(const std::string& key) {
    asked_.insert(key);
    return map_[key];
  }
  YAML::Node need(const std::string& key) {
    const YAML::Node node = find(key);
    check(bool(node), "hardware file {}: no {}{}: give it", where_, prefix_, key);
    return node;
  }
  template <class T>
  T as(const YAML::Node& node, const std::string& key) const {
    try {
      return node.as<T>();
    } catch (const YAML::Exception&) {
      fail("hardware file {}: {}{} can't be '{}': give it another value", where_, prefix_, key,
           node.IsScalar() ? node.Scalar() : "a list or a map");
    }
  }
  // Missing keys have the values of the device named by `like`.
  void keeps_others() { optional_ = true; }
  template <class T>
  void read(const std::string& key, T& to) {
    if (optional_ && !find(key)) return;
    to = as<T>(need(key), key);
  }
  template <class T>
  void maybe(const std::string& key, T& to) {
    if (const YAML::Node node = find(key)) to = as<T>(node, key);
  }
  template <class T>
  void positive(const std::string& key, T& to) {
    if (optional_ && !find(key)) return;
    to = as<T>(need(key), key);
    check(to > 0 && std::isfinite(double(to)), "hardware file {}: {}{} is {}: want more than 0", where_, prefix_, key,
          to);
  }
  template <class T>
  void at_least(double least, const std::string& key, T& to, bool needed = true) {
    needed ? read(key, to) : maybe(key, to);
    check(to >= least && std::isfinite(double(to)), "hardware file {}: {}{} is {}: want {} or more", where_, prefix_,
          key, to, least);
  }
  void curve(const std::string& key, BandwidthCurve& to) {
    const YAML::Node list = find(key);
    if (!list) return;
    to.clear();
    for (const YAML::Node& point : list) {
      check(point.IsSequence() && point.size() == 2, "hardware file {}: {}{}: want pairs of numbers", where_, prefix_,
            key);
      to.push_back({as<double>(point[0], key), as<double>(point[1], key)});
      const bool rises = to.size() == 1 || to[to.size() - 2].first < to.back().first;
      const auto [x, y] = to.back();
      check(rises && x > 0 && y > 0 && std::isfinite(x) && std::isfinite(y),
            "hardware file {}: {}{}: the first numbers of its pairs must rise, all be above 0", where_, prefix_, key);
    }
  }
  bool has(const std::string& key) { return bool(find(key)); }
  Section section(const std::string& key) { return {need(key), where_, key + ".", optional_}; }
  void done() const {
    std::set<std::string> seen;
    for (const std::string& key : keys()) {
      check(asked_.contains(key), "hardware file {}: {}{} is no known key: take it out", where_, prefix_, key);
      check(seen.insert(key).second, "hardware file {}: {}{} is there twice: take one out", where_, prefix_, key);
    }
  }
  const std::string& where() const { return where_; }
  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& item : map_) out.push_back(item.first.as<std::string>(""));
    return out;
  }

 private:
  YAML::Node map_;
  std::string where_, prefix_;
  std::set<std::string> asked_;
  bool optional_ = false;
};

void read_links(Section& s, DeviceFacts& f) {
  const auto link = [](Section& of, LinkFacts& l) {
    of.positive("gbps", l.gbps), of.positive("latency_us", l.latency_us), of.curve("busbw", l.busbw);
    of.at_least(0, "hop_us", l.hop_us, false);
    of.done();
  };
  if (s.has("node")) {
    Section node = s.section("node");
    node.positive("gpus", f.node_gpus);
    link(node, f.node);
  }
  if (s.has("network")) {
    Section network = s.section("network");
    link(network, f.network);
  }
  if (s.has("host")) {
    Section host = s.section("host");
    host.positive("pcie_gbps", f.pcie_gbps), host.at_least(0, "memory_bytes", f.host_bytes, false);
    host.done();
  }
}

void read_transfers(Section& file, DeviceFacts& f) {
  const YAML::Node list = file.find("transfers");
  if (list) f.transfers.clear();
  for (const YAML::Node& item : list) {
    Section s(item, file.where(), fmt::format("transfers[{}].", f.transfers.size()));
    TransferFact t;
    s.read("kind", t.kind), s.positive("ranks", t.ranks), s.maybe("lane", t.lane);
    s.need("busbw"), s.curve("busbw", t.busbw);
    const bool known =
        std::set<std::string>{"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "send"}.contains(t.kind);
    check(known,
          "hardware file {}: {} is no kind of transfer: want all_gather, reduce_scatter, all_reduce, "
          "all_to_all or send",
          file.where(), t.kind);
    check(t.ranks > 1 && !t.busbw.empty(),
          "hardware file {}: {} among {} ranks with {} pairs of busbw: want 2 ranks or more, and 1 pair or more",
          file.where(), t.kind, t.ranks, t.busbw.size());
    s.done();
    f.transfers.push_back(std::move(t));
  }
}

void read_beside(Section& file, DeviceFacts& f) {
  if (!file.has("beside")) return;
  BesideFacts b;
  Section s = file.section("beside");
  for (const auto& [key, to] : {std::pair{"product", &b.product}, std::pair{"attention", &b.attention},
                                std::pair{"memory", &b.memory}, std::pair{"transfer", &b.transfer}}) {
    s.positive(key, *to);
    check(*to >= 1, "hardware file {}: beside.{} is {}: want 1 or more", file.where(), key, *to);
  }
  s.done();
  f.beside = b;
}

// Facts of a device that is like another one: its kernels are scaled by the data-sheet peaks and bandwidths.
void scale(DeviceFacts& f, const DeviceFacts& like) {
  const auto peak = [](const DeviceFacts& d) {
    const auto it = d.peak_tflops.find("bf16");
    return it == d.peak_tflops.end() ? 1.0 : it->second;
  };
  const double faster = peak(f) / peak(like), wider = f.hbm_gbps / like.hbm_gbps;
  for (KernelFact& k : f.products) k.seconds /= faster;
  for (KernelFact& k : f.attention) k.seconds /= faster;
  for (KernelFact& k : f.kernels) k.seconds /= wider;
}

// A list of kernels. `sizes`: the keys of their sizes. rate: the key of the rate, and its unit of work per second.
void read_kernels(Section& file, const std::string& list, const std::vector<std::string>& sizes, const char* rate,
                  double unit, std::vector<KernelFact>& to) {
  int n = 0;
  for (const YAML::Node& item : file.find(list)) {
    Section s(item, file.where(), fmt::format("{}[{}].", list, n++));
    KernelFact f;
    s.read("form", f.form);
    for (const std::string& key : sizes) {
      i64 size = 0;
      s.read(key, size);
      check(size > 0, "hardware file {}: {} of {} is {}: want more than 0", file.where(), key, f.form, size);
      f.sizes.push_back(size);
    }
    double per_second = 0;
    f.work = double(f.sizes[0]);
    s.maybe("work", f.work), s.maybe("moved", f.moved), s.positive(rate, per_second);
    check(f.moved >= 0, "hardware file {}: moved of {} is {}: want bytes", file.where(), f.form, f.moved);
    check(f.work > 0, "hardware file {}: work of {} is {}: want more than 0", file.where(), f.form, f.work);
    f.seconds = f.work / per_second / unit;
    s.done();
    to.push_back(std::move(f));
  }
}

void read_workspaces(Section& file, const std::string& key, std::map<std::string, i64>& to) {
  for (const auto& item : file.find(key)) {
    const i64 bytes = file.as<i64>(item.second, key);
    check(bytes >= -1, "hardware file {}: {} of {} is {}: want bytes, or -1 where there is none", file.where(), key,
          item.first.Scalar(), bytes);
    to[item.first.Scalar()] = bytes;
  }
}

void read_peaks(Section& s, DeviceFacts& f) {
  if (!s.has("peak_tflops")) return;
  f.peak_tflops.clear();
  Section peaks = s.section("peak_tflops");
  for (const std::string& dtype : peaks.keys()) peaks.positive(dtype, f.peak_tflops[dtype]);
}

constexpr int kDeepest = 8;  // files that name one another by `like`

DeviceFacts read(Section& s, int depth) {
  DeviceFacts f;
  std::string like;
  s.maybe("like", like);
  check(depth < kDeepest, "hardware file {}: like leads through {} files, or back to itself: name another file",
        s.where(), kDeepest);
  const DeviceFacts other = like.empty() ? DeviceFacts{} : find_facts(like, depth + 1);
  if (!like.empty()) f = other, s.keeps_others();
  s.read("name", f.name), s.read("device", f.device), s.read("measured", f.measured), s.read("recorded", f.recorded);
  s.positive("memory_bytes", f.memory_bytes), s.at_least(0, "reserved_bytes", f.reserved_bytes);
  s.at_least(0, "nccl_bytes", f.nccl_bytes, false), s.at_least(0, "nccl_bytes_each", f.nccl_bytes_each, false);
  s.at_least(0, "sms", f.sms), s.at_least(0, "shared_memory", f.shared_memory);
  s.at_least(0, "capability", f.capability);
  read_peaks(s, f);
  s.positive("hbm_gbps", f.hbm_gbps), s.at_least(0, "launch_us", f.launch_us);
  s.positive("together", f.together), s.at_least(1, "overlap_slowdown", f.overlap_slowdown, false);
  s.curve("memory_curve", f.memory_curve);
  s.at_least(0, "watts", f.watts, false);
  read_links(s, f), read_transfers(s, f), read_beside(s, f);
  if (!like.empty()) scale(f, other);
  read_kernels(s, "matmul", {"m", "n", "k"}, "tflops", 1e12, f.products);
  read_kernels(s, "attention", {"s", "t", "d", "heads", "batch"}, "tflops", 1e12, f.attention);
  read_kernels(s, "kernels", {"bytes", "width"}, "gbps", 1e9, f.kernels);
  read_workspaces(s, "matmul_workspaces", f.product_workspaces);
  read_workspaces(s, "attention_workspaces", f.attention_workspaces);
  s.done();
  return f;
}

}  // namespace

DeviceFacts parse_facts(const std::string& text, const std::string& where, int depth) {
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& e) {
    fail("hardware file {}: not YAML: {}", where, e.what());
  }
  Section s(root, where);
  return read(s, depth);
}

}  // namespace megalith
