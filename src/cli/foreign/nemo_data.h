// Settings of NeMo about data, tokenizer and where a run is saved.
#pragma once
#include "cli/foreign/nemo_flags.h"

namespace megalith {

void take_nemo_save(const NemoValues& values, bool fine_tuning, NemoFlags& flags);
void take_nemo_tokenizer(const NemoValues& values, NemoFlags& flags);
// What --sft or pretraining reads. A stand-in is put where nothing is given, and that is told.
void take_nemo_data(const NemoValues& values, bool fine_tuning, NemoFlags& flags);

bool is_nemo_data_key(std::string_view key);  // of any of them

}  // namespace megalith
