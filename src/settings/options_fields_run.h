// Parts of the list of a run's flags (options_fields.cpp).
#pragma once
#include "config/field.h"
#include "settings/options.h"

namespace megalith {

void list_growing_batches(TrainConfig& c, config::FieldList& f);
void list_evaluation(TrainConfig& c, config::FieldList& f);
void list_incidents(TrainConfig& c, config::FieldList& f);
void list_doubts(TrainConfig& c, config::FieldList& f);
void list_faults(TrainConfig& c, config::FieldList& f);
void list_timing(TrainConfig& c, config::FieldList& f);
void list_tensorboard(TrainConfig& c, config::FieldList& f);

}  // namespace megalith
