// What a resumed run must have in common with the one that was saved, and what is said where it differs.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/options.h"
#include "train/trainer.h"

namespace megalith {

// Error with a table of expected and found if the stored model computes something else than the flags'. `where` names
// what holds it.
void check_same_model(const ModelConfig& flags, const ModelConfig& stored, const std::string& where);

// Numbers in samples, styles by their flags' names; what has no effect is left out.
nlohmann::json schedules_to_json(const Schedules& schedules);
Schedules schedules_from_json(const nlohmann::json& j, const std::string& where);

// The schedules that a resumed run follows, by --override-opt-param-scheduler (the flags') and
// --use-checkpoint-opt-param-scheduler (the stored ones); with neither, both must agree: Error with a table.
Schedules choose_schedules(const Options& flags, const nlohmann::json& stored, const std::string& where);

// Other settings that make a resumed run go on in another way than the saved one would have, "seed 1 -> 2, ..."; empty
// if there are none.
std::string changed_settings(Options flags, Options stored);

}  // namespace megalith
