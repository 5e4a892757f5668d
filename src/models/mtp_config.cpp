#include "models/mtp_config.h"

#include "config/field.h"

namespace megalith {

void list_fields(MtpConfig& c, config::FieldList& f) {
  f.group("Multi-token prediction");
  f.add("mtp-num-layers", c.num_layers,
        "Modules after the last layer; the first predicts the token after the next one, and so on. 0: none.");
  f.add("mtp-loss-scaling-factor", c.loss_scaling_factor,
        "Factor of the mean of the modules' losses, which is added to the loss.");
  f.add("mtp-use-repeated-layer", c.use_repeated_layer, "One module predicts at all depths.");
  f.add("mtp-detach-heads", c.detach_heads,
        "The modules' losses give no gradient to the layers, the embedding and the output layer.");
}

}  // namespace megalith
