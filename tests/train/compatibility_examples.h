// Command lines that break the rules of settings/compatibility.h, at least one for each rule. The key is the rule's
// text.
#pragma once
#include <map>
#include <string>

namespace megalith {

struct Example {
  std::string flags;    // appended to a small valid run
  std::string message;  // the complete message
};
using Examples = std::multimap<std::string, Example>;

Examples examples_of_model();
Examples examples_of_attention();
Examples examples_of_schedule();
Examples examples_of_parallel();
Examples examples_of_run();
Examples examples_of_observe();
Examples examples_of_quantize();
Examples examples_of_experts();
Examples examples_of_bert();
Examples examples_of_encoder_decoders();
Examples examples_of_retro();

}  // namespace megalith
