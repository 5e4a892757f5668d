// Our flags for settings of NeMo and Megatron Bridge. A key that ends in * stands for all keys with this prefix.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// The flag that takes the key's value unchanged. nullptr if the table has none.
const char* flag_of_key(std::string_view key);

// The flag for the value `false`. nullptr for other keys.
const char* flag_of_false(std::string_view key);

// The reason why a key has no effect. nullptr for other keys.
const char* why_key_is_idle(std::string_view key);

// The reason why a key is refused, if it is set (true, a name, a number above 0). nullptr for other keys.
const char* why_key_is_refused(std::string_view key);

// The defaults of NeMo's own files for missing settings.
std::string nemo_defaults(bool fine_tuning, bool model_is_loaded);

}  // namespace megalith
