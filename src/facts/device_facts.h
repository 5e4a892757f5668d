// Facts about a device that is not present: its sizes and rates, measured times of kernels by shape, and workspaces
// of libraries. They never contain a time or a total of a whole model. Files: facts_file.h.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// A measured kernel.
struct KernelFact {
  std::string form;        // op, dtypes and orientation; only kernels of the same form are compared
  std::vector<i64> sizes;  // coordinates of interpolation
  double work = 0;         // flops of products and attention, bytes of other ops
  double seconds = 0;
  double moved = 0;  // bytes read and written by a product of experts; 0: not known
};

// Measured transfers: bytes of the whole message, and bus bandwidth in GB/s as in nccl-tests.
using BandwidthCurve = std::vector<std::pair<double, double>>;

struct LinkFacts {
  double gbps = 0;        // of one GPU, each direction
  double latency_us = 0;  // of a collective of two ranks
  double hop_us = 0;      // added for each doubling of ranks
  BandwidthCurve busbw;
};

// Transfers of one kind among this many ranks of a node, in line or on a lane.
struct TransferFact {
  std::string kind;  // "all_gather", "reduce_scatter", "all_reduce", "all_to_all", or "send" from rank to rank
  int ranks = 2;
  bool lane = false;
  BandwidthCurve busbw;
};

// Slowdown factors: of kernels during a lane's transfer between ranks, and of the transfer.
struct BesideFacts {
  double product = 1, attention = 1, memory = 1, transfer = 1;
  bool operator==(const BesideFacts&) const = default;
};

struct DeviceFacts {
  std::string name;    // name of the file: "h100-sxm"
  std::string device;  // the driver's name of the device
  bool measured = false;
  std::string recorded;  // date and versions of the measurement

  i64 memory_bytes = 0;     // as reported by the driver
  i64 reserved_bytes = 0;   // memory of the context and the libraries, besides the plan
  i64 nccl_bytes = 0;       // once, if there are several ranks
  i64 nccl_bytes_each = 0;  // for each communicator
  int sms = 0;
  i64 shared_memory = 0;  // maximum shared memory of a block
  int capability = 0;     // 90: Hopper

  std::map<std::string, double> peak_tflops;  // by dtype
  double hbm_gbps = 0;                        // reads and writes
  double launch_us = 0;                       // per kernel in a CUDA graph
  double together = 1;                        // time of a step over the sum of its kernels' times
  double overlap_slowdown = 1;                // of kernels during a transfer
  BandwidthCurve memory_curve;                // bytes, and the reached share of hbm_gbps

  std::vector<KernelFact> products;                 // sizes m, n, k
  std::vector<KernelFact> attention;                // sizes s, t, d, heads, batch
  std::vector<KernelFact> kernels;                  // sizes bytes, width
  std::map<std::string, i64> product_workspaces;    // by problem; -1: the library does not support it
  std::map<std::string, i64> attention_workspaces;  // likewise

  int node_gpus = 8;
  LinkFacts node, network;
  double pcie_gbps = 0;  // each way
  double watts = 0;      // of one GPU under load; 0: unknown
  i64 host_bytes = 0;

  std::vector<TransferFact> transfers;  // measured; `node` is used for others
  std::optional<BesideFacts> beside;    // measured; without it overlap_slowdown applies to all kernels
};

}  // namespace megalith
