// What is known of a device without having it: its sizes and rates, what kernels took by their shapes, and what
// libraries ask for. Never a time or a total of a model. A file of them: facts_file.h.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// A kernel of some sizes was seen to take so long.
struct KernelFact {
  std::string form;        // op, dtypes and orientation: only kernels of one form are compared
  std::vector<i64> sizes;  // between which is interpolated
  double work = 0;         // flops of products and attention, bytes of all others
  double seconds = 0;
};

// Measured transfers: bytes of the whole message, GB/s of bus bandwidth as nccl-tests counts it.
using BandwidthCurve = std::vector<std::pair<double, double>>;

struct LinkFacts {
  double gbps = 0;        // of one GPU, each way
  double latency_us = 0;  // of a collective of two ranks
  double hop_us = 0;      // more for each time that the ranks are doubled
  BandwidthCurve busbw;
};

// Transfers of one kind among so many ranks of a node, in line or on a lane.
struct TransferFact {
  std::string kind;  // "all_gather", "reduce_scatter", "all_reduce", "all_to_all", or "send" from rank to rank
  int ranks = 2;
  bool lane = false;
  BandwidthCurve busbw;
};

// How many times as long kernels take beside a lane's transfer between ranks, and that transfer beside kernels.
struct BesideFacts {
  double product = 1, attention = 1, memory = 1, transfer = 1;
  bool operator==(const BesideFacts&) const = default;
};

struct DeviceFacts {
  std::string name;    // of the file: "h100-sxm"
  std::string device;  // as the driver calls it
  bool measured = false;
  std::string recorded;  // when, by which versions

  i64 memory_bytes = 0;     // as the driver reports it
  i64 reserved_bytes = 0;   // of the context and the libraries, beside the plan
  i64 nccl_bytes = 0;       // once, of several ranks
  i64 nccl_bytes_each = 0;  // of each communicator
  int sms = 0;
  i64 shared_memory = 0;  // bytes that a block may ask for
  int capability = 0;     // 90: Hopper

  std::map<std::string, double> peak_tflops;  // by dtype
  double hbm_gbps = 0;                        // read and written
  double launch_us = 0;                       // of a kernel in a graph
  double together = 1;                        // a step's time over that of its kernels one by one
  double overlap_slowdown = 1;                // of what runs beside a transfer
  BandwidthCurve memory_curve;                // bytes, share of hbm_gbps

  std::vector<KernelFact> products;                 // sizes m, n, k
  std::vector<KernelFact> attention;                // sizes s, t, d, heads, batch
  std::vector<KernelFact> kernels;                  // sizes bytes, width
  std::map<std::string, i64> product_workspaces;    // by problem; -1: the library has no such product
  std::map<std::string, i64> attention_workspaces;  // likewise

  int node_gpus = 8;
  LinkFacts node, network;
  double pcie_gbps = 0;  // each way
  double watts = 0;      // of one GPU at work; 0: not known
  i64 host_bytes = 0;

  std::vector<TransferFact> transfers;  // measured; `node` tells the others
  std::optional<BesideFacts> beside;    // measured; without it overlap_slowdown is of all kernels
};

}  // namespace megalith
