// What is known of an incident, and how it is told: as lines of the log, and as the file that `megalith blame` reads.
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
  // Of the first number that is not finite:
  i64 data_parallel_rank = 0;
  const SampleRead* sample = nullptr;  // of `samples`; nullptr: it is of none alone
  const DocumentPart* document = nullptr;
  std::optional<i64> token;  // the id there

  // Finds those, from the samples.
  void place(const Mesh& mesh, int ranks, const Dataset& dataset, const LoaderConfig& config);
  const DataRankLoss* worst() const;  // the one furthest from the others' median; nullptr: losses are not known
  std::string cause_text() const;
  std::string spike_text() const;
};

std::string incident_json(const IncidentReport& incident, const Options& options);

}  // namespace megalith
