#include "ckpt/torch/legacy_experts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/parse_count.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

constexpr std::string_view kExperts = ".mlp.experts.", kLocalExperts = "local_experts.";

i64 count_in(const PickleValue& args, const char* name, i64 otherwise) {
  const PickleValue* v = args.find(name);
  return v == nullptr || v->is_none() ? otherwise : pickle_count(v, fmt::format("[megatron] the argument {}", name));
}

struct ExpertName {
  i64 expert;
  std::string rest;  // "linear_fc1.weight"
};

// "local_experts.3.linear_fc1.weight" or "linear_fc1.weight3".
std::optional<ExpertName> read_name(std::string_view name) {
  const bool sequential = name.starts_with(kLocalExperts);
  if (sequential) name.remove_prefix(kLocalExperts.size());
  const std::size_t first = sequential ? 0 : name.find_last_not_of("0123456789") + 1;
  const std::size_t end = sequential ? name.find('.') : name.size();
  if (end == name.npos || first >= end) return std::nullopt;
  const auto expert = parse_count(name.substr(first, end - first));
  if (!expert) return std::nullopt;
  return ExpertName{*expert, std::string(sequential ? name.substr(end + 1) : name.substr(0, first))};
}

}  // namespace

LegacyExperts::LegacyExperts(const PickleValue& args, i64 tensor_ranks, i64 expert_ranks) {
  const i64 experts = count_in(args, "num_experts", 0);
  if (experts == 0) return;
  check(experts % expert_ranks == 0, "[load] {} experts can't be shared out to {} expert-parallel ranks", experts,
        expert_ranks);
  const i64 own = count_in(args, "expert_tensor_parallel_size", tensor_ranks);
  check(own == tensor_ranks,
        "[load] expert_tensor_parallel_size is {} beside {} tensor ranks: of a checkpoint of format torch only equal "
        "numbers are read; save it as torch_dist",
        own, tensor_ranks);
  local_ = experts / expert_ranks;
}

std::vector<NamedTorchTensor> LegacyExperts::split(const std::string& name, const TorchTensor& t, i64 expert_rank,
                                                   const std::string& where) const {
  const auto at = name.find(kExperts);
  if (at == name.npos) return {{name, t}};
  const std::string begin = name.substr(0, at + kExperts.size()), end = name.substr(at + kExperts.size());
  check(local_ > 0, "{}: {} is of an expert, and num_experts is not set", where, name);
  const auto full = [&](i64 expert, std::string_view rest) {
    return fmt::format("{}{}{}.{}", begin, kLocalExperts, expert_rank * local_ + expert, rest);
  };
  if (end != "weight1" && end != "weight2") {
    const auto one = read_name(end);
    check(one && one->expert < local_, "{}: {} is of none of the rank's {} experts", where, name, local_);
    return {{full(one->expert, one->rest), t}};
  }
  const bool first = end == "weight1";
  const std::size_t cut = first ? 1 : 0;
  check(t.shape.size() == 2 && t.strides == row_major_strides(t.shape) && t.shape[cut] % local_ == 0,
        "{}: {} of shape {} does not have {} consecutive experts", where, name, to_string(t.shape), local_);
  const i64 in = first ? t.shape[0] : t.shape[0] / local_, out = first ? t.shape[1] / local_ : t.shape[1];
  std::vector<NamedTorchTensor> experts;
  for (i64 i = 0; i < local_; ++i) {
    TorchTensor one = t;
    one.shape = {out, in}, one.strides = {1, out};
    one.position += i * in * out * size_of(t.dtype());
    experts.push_back({full(i, first ? "linear_fc1.weight" : "linear_fc2.weight"), std::move(one)});
  }
  return experts;
}

bool is_of_expert(const std::string& name) { return name.find(kExperts) != name.npos; }

}  // namespace megalith
