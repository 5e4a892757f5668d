// The facts about an incident, as lines of the log and as the file that `megalith blame` reads.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "observe/rank_losses.h"
#include "observe/spike_detector.h"
#include "settings/options.h"
#include "train/incident_replay.h"
#include "train/incident_samples.h"

namespace megalith {

struct IncidentReport {
  i64 iteration = 0;
  StepResult step;
  SpikeDetector::Usual usual_loss, usual_grad_norm;
  std::vector<DataRankLoss> losses;
  std::vector<SampleRead> samples;
  bool is_replayed = false;
  std::optional<FoundOnRank> first;
  // Of the first non-finite number:
  i64 data_parallel_rank = 0;
  const SampleRead* sample = nullptr;  // one of `samples`; nullptr: the number belongs to no single sample
  const DocumentPart* document = nullptr;
  std::optional<i64> token;  // the id at that position

  // Sets these members from the samples.
  void place(const Mesh& mesh, int ranks, const Dataset& dataset, const LoaderConfig& config);
  const DataRankLoss* worst() const;  // the one furthest from the median of the others; nullptr: losses are unknown
  std::string cause_text() const;
  std::string spike_text() const;
};

std::string incident_json(const IncidentReport& incident, const Options& options);

}  // namespace megalith
