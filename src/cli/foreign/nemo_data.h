// NeMo's settings of data, tokenizer and checkpoints.
#pragma once
#include "cli/foreign/nemo_flags.h"

namespace megalith {

void take_nemo_save(const NemoValues& values, bool fine_tuning, NemoFlags& flags);
// `known`: the vocabulary is that of the model to load, or a flag of ours gives it.
void take_nemo_tokenizer(const NemoValues& values, bool known, NemoFlags& flags);
// The data of --sft or pretraining. A missing path gets a placeholder, with a message.
void take_nemo_data(const NemoValues& values, bool fine_tuning, NemoFlags& flags);

bool is_nemo_data_key(std::string_view key);  // of any of them

}  // namespace megalith
