// Command lines that break a rule of train/compatibility.h, by the rule's words: one at least for every rule.
#pragma once
#include <map>
#include <string>

namespace megalith {

struct Example {
  std::string flags;    // after a small run that keeps every rule
  std::string message;  // the whole message
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
