// What NeMo's and Megatron Bridge's settings are called here. A key is the whole of it, or ends in * for all that begin
// so.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// The flag that takes the key's value as it is; nullptr where there is none by that table.
const char* flag_of_key(std::string_view key);

// The flag that stands for `false`; nullptr for others.
const char* flag_of_false(std::string_view key);

// Why a key changes nothing here; nullptr for others.
const char* why_key_is_idle(std::string_view key);

// Why what a key asks for cannot be had, if it asks for anything (true, a name, a number above 0); nullptr for others.
const char* why_key_is_refused(std::string_view key);

// The values that NeMo's own files give to what a command line leaves open.
std::string nemo_defaults(bool fine_tuning, bool model_is_loaded);

}  // namespace megalith
