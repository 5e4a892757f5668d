// Writes a file of facts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts/facts_file.h"

namespace megalith {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string curve(const BandwidthCurve& points) {
  std::vector<std::string> out;
  for (const auto& [x, y] : points) out.push_back(fmt::format("[{:g}, {:g}]", x, y));
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string link(const LinkFacts& l) {
  return fmt::format("gbps: {:g}, latency_us: {:g}, hop_us: {:g}, busbw: {}", l.gbps, l.latency_us, l.hop_us,
                     curve(l.busbw));
}

std::string transfers(const DeviceFacts& f) {
  std::string out = f.transfers.empty() ? "" : "transfers:\n";
  for (const TransferFact& t : f.transfers)
    out += fmt::format("  - {{kind: {}, ranks: {}, lane: {}, busbw: {}}}\n", t.kind, t.ranks, t.lane, curve(t.busbw));
  if (const auto& b = f.beside)
    out += fmt::format("beside: {{product: {:.4g}, attention: {:.4g}, memory: {:.4g}, transfer: {:.4g}}}\n", b->product,
                       b->attention, b->memory, b->transfer);
  return out;
}

double tera(const KernelFact& f) { return f.work / f.seconds / 1e12; }

std::string products(const DeviceFacts& f) {
  std::string out = "matmul:\n";
  for (const KernelFact& p : f.products)
    out += fmt::format("  - {{form: {}, m: {}, n: {}, k: {}, work: {:.9g}{}, tflops: {:.5g}}}\n", quoted(p.form),
                       p.sizes[0], p.sizes[1], p.sizes[2], p.work,
                       p.moved > 0 ? fmt::format(", moved: {:.9g}", p.moved) : "", tera(p));
  return out;
}

std::string attention(const DeviceFacts& f) {
  std::string out = "attention:\n";
  for (const KernelFact& a : f.attention)
    out += fmt::format("  - {{form: {}, s: {}, t: {}, d: {}, heads: {}, batch: {}, work: {:.9g}, tflops: {:.5g}}}\n",
                       quoted(a.form), a.sizes[0], a.sizes[1], a.sizes[2], a.sizes[3], a.sizes[4], a.work, tera(a));
  return out;
}

std::string kernels(const DeviceFacts& f) {
  std::string out = "kernels:\n";
  for (const KernelFact& k : f.kernels)
    out += fmt::format("  - {{form: {}, bytes: {}, width: {}, gbps: {:.5g}}}\n", quoted(k.form), k.sizes[0], k.sizes[1],
                       k.work / k.seconds / 1e9);
  return out;
}

std::string workspaces(const char* key, const std::map<std::string, i64>& all) {
  std::string out = fmt::format("{}:\n", key);
  for (const auto& [problem, bytes] : all) out += fmt::format("  {}: {}\n", quoted(problem), bytes);
  return out;
}

std::string sizes(const DeviceFacts& f) {
  std::vector<std::string> peaks;
  for (const auto& [dtype, tflops] : f.peak_tflops) peaks.push_back(fmt::format("{}: {:g}", dtype, tflops));
  std::string out = fmt::format("memory_bytes: {}\nreserved_bytes: {}\nnccl_bytes: {}\nnccl_bytes_each: {}\n",
                                f.memory_bytes, f.reserved_bytes, f.nccl_bytes, f.nccl_bytes_each);
  out += fmt::format("sms: {}\nshared_memory: {}\ncapability: {}\n", f.sms, f.shared_memory, f.capability);
  out += fmt::format("peak_tflops: {{{}}}\nhbm_gbps: {:g}\nlaunch_us: {:g}\ntogether: {:.4g}\noverlap_slowdown: {:g}\n",
                     fmt::join(peaks, ", "), f.hbm_gbps, f.launch_us, f.together, f.overlap_slowdown);
  if (f.watts > 0) out += fmt::format("watts: {:g}\n", f.watts);
  return out + fmt::format("memory_curve: {}\n", curve(f.memory_curve));
}

}  // namespace

std::string print_facts(const DeviceFacts& f) {
  std::string out = fmt::format("name: {}\ndevice: {}\nmeasured: {}\nrecorded: {}\n", f.name, quoted(f.device),
                                f.measured, quoted(f.recorded));
  out += sizes(f);
  if (f.node.gbps > 0) out += fmt::format("node: {{gpus: {}, {}}}\n", f.node_gpus, link(f.node));
  if (f.network.gbps > 0) out += fmt::format("network: {{{}}}\n", link(f.network));
  if (f.pcie_gbps > 0) out += fmt::format("host: {{pcie_gbps: {:g}, memory_bytes: {}}}\n", f.pcie_gbps, f.host_bytes);
  out += transfers(f) + products(f) + attention(f) + kernels(f);
  return out + workspaces("matmul_workspaces", f.product_workspaces) +
         workspaces("attention_workspaces", f.attention_workspaces);
}

}  // namespace megalith
