// The settings of multi-token prediction. Names, meanings and defaults are Megatron's flags.
#pragma once
#include <string_view>

#include "base/dtype.h"

namespace megalith {

namespace config {
class FieldList;
}

struct MtpConfig {
  i64 num_layers = 0;  // number of depths: modules of depth j predict the token j positions further on; 0: none
  double loss_scaling_factor = 0.1;  // factor of the mean of the depths' losses, which is added to the main loss
  bool use_repeated_layer = false;   // one module for all depths
  bool detach_heads = false;         // their losses train only the modules
  bool operator==(const MtpConfig&) const = default;

  i64 modules() const { return use_repeated_layer && num_layers > 1 ? 1 : num_layers; }
};

// Prefix of the names of the modules' parameters. Evaluation and generation do not use these.
inline constexpr std::string_view kMtpPrefix = "mtp.";

void list_fields(MtpConfig& c, config::FieldList& f);

}  // namespace megalith
