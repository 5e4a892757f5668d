#include "optim/offload.h"

namespace megalith {

namespace {

struct Item {
  i64 elements;
  bool decay;
};

std::vector<bool> choose(const std::vector<Item>& items, const OptimizerConfig& c) {
  std::vector<bool> out(items.size());
  if (!c.optimizer_cpu_offload) return out;
  i64 all = 0, there = 0;
  for (const Item& item : items) all += item.elements;
  for (size_t i = 0; i < items.size(); ++i) {
    out[i] = items[i].decay && double(there) < c.optimizer_offload_fraction * double(all);
    if (out[i]) there += items[i].elements;
  }
  return out;
}

}  // namespace

std::vector<bool> on_host(const std::vector<Parameter>& parameters, const OptimizerConfig& config) {
  std::vector<Item> items;
  for (const Parameter& p : parameters) items.push_back({p.type.elements(), p.decays()});
  return choose(items, config);
}

void place_on_host(std::vector<Bucket>& buckets, const OptimizerConfig& config) {
  std::vector<Item> items;
  for (const Bucket& bucket : buckets) items.push_back({bucket.shard.elements(), bucket.decay});
  const std::vector<bool> host = choose(items, config);
  for (size_t i = 0; i < buckets.size(); ++i) buckets[i].host = host[i];
}

}  // namespace megalith
