// The report as JSON, for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "search/saves.h"

namespace megalith::search {

namespace {

using Json = nlohmann::ordered_json;

Json of_choice(const Choice& c) {
  constexpr const char* kRecompute[] = {"flags", "none", "parts", "full"};
  constexpr const char* kCpComm[] = {"all_gather", "a2a", "p2p"};
  return {{"tensor", c.tp},
          {"pipeline", c.pp},
          {"virtual", c.vpp},
          {"context", c.cp},
          {"context_transfer", kCpComm[int(c.cp_comm)]},
          {"expert", c.ep},
          {"expert_tensor", c.etp},
          {"micro_batch", c.micro_batch},
          {"schedule", c.zero_bubble ? "zero-bubble" : "1f1b"},
          {"stages", c.balanced ? "balanced" : "even"},
          {"recompute", kRecompute[int(c.recompute)]},
          {"offload", c.offload},
          {"sharded", c.sharded},
          {"tensor_overlap", c.tp_overlap}};
}

Json of_row(const Row& r, const Asked& asked) {
  Json out = {{"layout", of_choice(r.choice)},
              {"name", to_string(r.choice)},
              {"gpus", r.gpus},
              {"data", r.dp},
              {"bytes", r.bytes},
              {"fullest_stage", r.stage},
              {"step_seconds", r.step_seconds},
              {"tokens_per_second", r.tokens_per_second},
              {"tokens_per_second_per_gpu", r.gpu_tokens()},
              {"model_tflops_per_gpu", r.tflops},
              {"mfu", r.mfu > 0 ? Json(r.mfu) : Json(nullptr)},
              {"bubble", r.bubble},
              {"exposed", r.exposed},
              {"days", r.cost.days},
              {"useful", r.goodput.useful},
              {"save_interval_steps", r.goodput.save_steps}};
  if (asked.sites.any())
    out["sites"] = {{"mode", name_of(r.site.mode)},
                    {"bytes", r.site.bytes},
                    {"seconds", r.site.seconds},
                    {"exposed_seconds", r.site.exposed}};
  if (asked.prices.gpu_hour > 0) out["usd"] = r.cost.usd;
  if (asked.prices.watts > 0) out["mwh"] = r.cost.mwh;
  return out;
}

}  // namespace

std::string rows_json(const Options& base, const DeviceFacts& facts, const Asked& asked, const std::vector<Row>& rows,
                      const Outcome& found, const std::vector<std::string>& commands) {
  Json out = {{"schema", "megalith.plan/1"},
              {"hardware", {{"name", facts.name}, {"measured", facts.measured}, {"memory_bytes", facts.memory_bytes}}},
              {"gpus", asked.gpus},
              {"tokens", asked.run_tokens()},
              {"global_batch_size", base.train.global_batch_size},
              {"sequence_length", base.model.seq_length},
              {"save_bytes", save_bytes(base)},
              {"layouts", found.layouts},
              {"slower", found.slower},
              {"planned", found.planned}};
  out["best"] = Json::array(), out["refused"] = Json::array(), out["nearest_misses"] = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    out["best"].push_back(of_row(rows[i], asked));
    const Saves saves = saves_of(base, rows[i], asked);
    out["best"].back()["saves"] = {{"taken", saves.taken}, {"kept", saves.kept}, {"bytes", saves.bytes()}};
    if (i < commands.size()) out["best"].back()["command"] = commands[i];
  }
  for (const auto& [reason, r] : found.reasons)
    out["refused"].push_back({{"reason", reason}, {"count", r.count}, {"first", r.example}});
  for (const Miss& m : found.misses)
    out["nearest_misses"].push_back({{"name", to_string(m.choice)}, {"bytes", m.bytes}, {"exact", m.exact}});
  return out.dump(2) + "\n";
}

std::string rows_csv(const std::vector<Row>& rows) {
  std::string out =
      "gpus,tp,pp,vpp,cp,dp,ep,etp,micro_batch,layout,bytes,step_seconds,tokens_per_second_per_gpu,model_tflops_per_"
      "gpu,"
      "mfu,bubble,exposed,days,usd,mwh,useful,hardware\n";
  for (const Row& r : rows) {
    const Choice& c = r.choice;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.4f},{:.4f},{:.4f},{:.6g},{:.8g},{:.6g},{:.5f},{}\n",
        r.gpus, c.tp, c.pp, c.vpp, c.cp, r.dp, c.ep, c.etp, c.micro_batch, to_string(c), r.bytes, r.step_seconds,
        r.gpu_tokens(), r.tflops, r.mfu, r.bubble, r.exposed, r.cost.days, r.cost.usd, r.cost.mwh, r.goodput.useful,
        r.hardware);
  }
  return out;
}

}  // namespace megalith::search
