#include "models/t5_config.h"

#include "config/field.h"

namespace megalith {

void list_fields(T5ModelConfig& c, config::FieldList& f) {
  f.group("Encoder-decoders (T5)");
  f.add("decoder-num-layers", c.decoder_num_layers, "Layers of the decoder; 0: as many as --encoder-num-layers.");
  f.add("decoder-seq-length", c.decoder_seq_length, "Tokens of the decoder's text (required).");
  f.add("relative-attention-num-buckets", c.relative_attention_num_buckets,
        "Buckets of distances between positions, of --position-embedding-type relative.");
  f.add("relative-attention-max-distance", c.relative_attention_max_distance,
        "From this distance on all positions share the last bucket.");
  f.add("unscaled-attention", c.unscaled_attention,
        "Attention's scores are not divided by the square root of --kv-channels, as in Google's T5. Not in Megatron.");
  f.add("scale-decoder-outputs", c.scale_decoder_outputs,
        "The head reads the decoder's result divided by the square root of --hidden-size (T5 v1.0). Not in Megatron.");
  f.add("no-head-bias", c.no_head_bias, "A tied head has no bias (T5 v1.0). Not in Megatron.");
}

}  // namespace megalith
