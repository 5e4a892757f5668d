// Small models to be planned for, as `megalith plan` prepares them.
#pragma once
#include "facts/facts_file.h"
#include "search/search.h"
#include "tests/train/options_helpers.h"

namespace megalith::search {

inline Options base_of(const std::string& line) {
  Options o = read_line(line);
  refuse_wrong(o);
  o.train.train_iters = 1, o.optimizer.lr = 1;
  o.train.dry_run = true, o.train.device.device = "h100-sxm", o.train.eval_iters = 0;
  return o;
}

inline const char* const kSmall =
    "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --vocab-size 8192 --swiglu --bf16 "
    "--normalization RMSNorm --disable-bias-linear --position-embedding-type rope --global-batch-size 32 ";

// An H100 with less memory, four to a node.
inline DeviceFacts small_device(double gib) {
  DeviceFacts f = find_facts("h100");
  f.memory_bytes = i64(gib * (1 << 30)), f.reserved_bytes = 64 << 20, f.node_gpus = 4;
  f.nccl_bytes = 1 << 20, f.nccl_bytes_each = 1 << 16;
  return f;
}

}  // namespace megalith::search
