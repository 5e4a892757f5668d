#include "train/incident_replay.h"

#include "base/parse_json.h"
#include "train/kept_leaves.h"

namespace megalith {

namespace {

using nlohmann::json;

std::string text_of(const NonFinite& f) {
  return json{{"when", {f.when.micro_batch, f.when.backward, f.when.stage, f.when.instruction}},
              {"tensor", f.tensor},
              {"op", f.op},
              {"phase", f.phase},
              {"module", f.module},
              {"stack", f.stack},
              {"layer", f.layer},
              {"parameter", f.parameter},
              {"count", f.count},
              {"elements", f.elements},
              {"position", f.position},
              {"row", f.row}}
      .dump();
}

NonFinite non_finite_of(const std::string& text) {
  const json j = parse_json<json>(text);
  NonFinite f;
  const auto& when = j.at("when");
  f.when = {when[0], when[1], when[2], when[3]};
  f.tensor = j.at("tensor"), f.op = j.at("op"), f.phase = j.at("phase"), f.module = j.at("module");
  f.stack = j.at("stack"), f.layer = j.at("layer"), f.parameter = j.at("parameter");
  f.count = j.at("count"), f.elements = j.at("elements"), f.position = j.at("position"), f.row = j.at("row");
  return f;
}

}  // namespace

std::optional<FoundOnRank> replay(const ReplaySite& site, std::shared_ptr<const Dataset> dataset,
                                  const LoaderConfig& config, i64 micro_batches) {
  const KeptLeaves kept(site.step.plan, site.interpreter);
  FirstNonFinite first(site.step, site.coord);
  first.look_at_weights(site.interpreter);
  {
    DataLoader loader(std::move(dataset), config);
    site.watches.add(&first);
    site.interpreter.watch(&site.watches);
    site.watches.step_repeats();
    site.trainer.run_again(loader, micro_batches);
    site.watches.remove(&first);
    site.interpreter.watch(site.watches.empty() ? nullptr : &site.watches);
  }
  kept.put_back();
  const std::vector<std::string> all = site.ranks.all_gather(first.found() ? text_of(*first.found()) : "");
  std::optional<FoundOnRank> out;
  for (size_t r = 0; r < all.size(); ++r) {
    if (all[r].empty()) continue;
    const NonFinite found = non_finite_of(all[r]);
    if (!out || found.when < out->what.when) out = {int(r), found};
  }
  return out;
}

}  // namespace megalith
