// The settings of multi-token prediction. Names, meanings and defaults are Megatron's flags.
#pragma once
#include <string_view>

#include "base/dtype.h"

namespace megalith {

namespace config {
class FieldList;
}

struct MtpConfig {
  i64 num_layers = 0;                // depths: of depth j the modules predict j tokens further ahead; 0: none
  double loss_scaling_factor = 0.1;  // of the mean of the depths' losses, which is added to the main loss
  bool use_repeated_layer = false;   // one module for all depths
  bool detach_heads = false;         // their losses train the modules alone
  bool operator==(const MtpConfig&) const = default;

  i64 modules() const { return use_repeated_layer && num_layers > 1 ? 1 : num_layers; }
};

// Before the names of the modules' parameters, which evaluation and generation have no use for.
inline constexpr std::string_view kMtpPrefix = "mtp.";

void list_fields(MtpConfig& c, config::FieldList& f);

}  // namespace megalith
