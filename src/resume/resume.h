// Settings that a resumed run must share with the saved one, and reports of the ones that differ.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "data/dataset.h"
#include "settings/options.h"
#include "step/trainer.h"

namespace megalith {

// Error with a table of expected and found values if the stored model differs from the flags. `where` names its
// source.
void check_same_model(const ModelConfig& flags, const ModelConfig& stored, const std::string& where);

// Counts are in samples, styles have the names of their flags, and fields without effect are left out.
nlohmann::json schedules_to_json(const Schedules& schedules);
Schedules schedules_from_json(const nlohmann::json& j, const std::string& where);

// The schedules of a resumed run: the flags' with --override-opt-param-scheduler, the stored ones with
// --use-checkpoint-opt-param-scheduler. Without these flags both must be equal: Error with a table.
Schedules choose_schedules(const Options& flags, const nlohmann::json& stored, const std::string& where);

// Other settings that change how a resumed run continues, "clip_grad 1.0 -> 2.0, ..."; empty if there are none.
// `told`: the names in the checkpoint; only these are compared.
std::string changed_settings(const Options& flags, const Options& stored, const std::set<std::string>& told);

// Why the order of training samples differs from the saved run's (blend, split, seed, ...). Also the effect from
// `start` on. Empty if the order is the same; the number of ranks does not change it.
std::string changed_samples(const Options& flags, const Options& stored, const std::set<std::string>& told,
                            const RunState& start);
// The same for the number of samples: it determines the epochs of `train`, this run's set, and their shuffle.
std::string changed_epochs(const Options& flags, const Options& stored, const std::set<std::string>& told,
                           const RunState& start, const Dataset& train);

std::string layout_text(const ParallelConfig& p);  // "tp 2, pp 1, cp 1, dp 4"

// Megatron's line: the tensor- and pipeline-parallel index of the rank that prints it.
std::string loaded_line(const std::string& dir, const ParallelConfig& p, i64 iteration);

}  // namespace megalith
