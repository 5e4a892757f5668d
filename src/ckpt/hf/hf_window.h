// What config.json says of sliding windows.
#pragma once
#include "ckpt/hf/hf_config.h"

namespace megalith {

class JsonFields;

// Of a descendant of llama, which may have several keys for it; 0: none. Error if its layers do not agree.
i64 read_window(const JsonFields& f, HfFamily family, i64 layers);

}  // namespace megalith
