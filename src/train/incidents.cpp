#include "train/incidents.h"

#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "base/one_line.h"
#include "ckpt/tensors/files.h"
#include "train/evaluation.h"

namespace megalith {

static constexpr i64 kMost = 1000;  // incidents that one process writes

Incidents::Incidents(const Options& options, const ReplaySite& site, std::shared_ptr<const Dataset> train, bool in_step,
                     std::function<void()> still_ours)
    : o_(options),
      site_(site),
      train_(std::move(train)),
      in_step_(in_step),
      still_ours_(std::move(still_ours)),
      loss_(options.train.spike_threshold),
      grad_norm_(options.train.spike_threshold) {}

void Incidents::judge(StepResult& r) {
  r.loss_spike = loss_.look(r.loss), r.grad_norm_spike = grad_norm_.look(r.grad_norm);
  r.loss_spikes = loss_spikes_ += r.loss_spike, r.grad_norm_spikes = grad_norm_spikes_ += r.grad_norm_spike;
}

bool Incidents::is_bad(const StepResult& r) const {
  return !r.counted && !r.may_scale_down && o_.train.check_for_nan_in_loss_and_grad;
}

std::string Incidents::take(const RunState& state, const StepResult& r) {
  if (!is_bad(r) && !(r.counted && (r.loss_spike || r.grad_norm_spike))) return "";
  if (!train_ || ++taken_ > kMost) return "";
  const Mesh& mesh = site_.step.plan.mesh;
  LoaderConfig config = rank_loader_config(o_, mesh, site_.coord, Split::train, state.consumed_samples - r.samples);
  config.num_workers = 0;
  const i64 micro_batches = r.samples / (config.micro_batch_size * config.data_parallel_size);
  IncidentReport out;
  out.iteration = state.iteration, out.step = r;
  out.usual_loss = loss_.usual(), out.usual_grad_norm = grad_norm_.usual();
  if (in_step_) out.losses = gather_losses(mesh, site_.coord, site_.ranks, r.micro_batches);
  if (in_step_ && !r.counted) {
    out.is_replayed = true;
    out.first = replay(site_, train_, config, micro_batches);
  }
  try {
    out.samples = samples_read(*train_, config, micro_batches);
    if (out.first) out.place(mesh, site_.ranks.size(), *train_, config);
    if (site_.ranks.rank() == 0 && !o_.train.save.empty()) write(out);
  } catch (const std::exception& e) {
    log::warn("iteration {}: cannot write its incident: {}", state.iteration, one_line(e));
  }
  return cause(out);
}

std::string Incidents::cause(const IncidentReport& incident) const {
  if (incident.step.counted) {
    log::warn("iteration {}: {}", incident.iteration, incident.spike_text());
    return "";
  }
  return incident.is_replayed ? incident.cause_text() : "";
}

void Incidents::write(const IncidentReport& incident) const {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(o_.train.save) / "incidents";
  make_directory_in(o_.train.save, "incidents", still_ours_, {});
  const fs::path path = folder / fmt::format("iter_{:07d}.json", incident.iteration);
  std::ofstream out(path);
  out << incident_json(incident, o_) << "\n";
  out.flush();
  check(bool(out), "cannot write {}", path.string());
}

}  // namespace megalith
