#include "models/rope_config.h"

#include "config/field.h"

namespace megalith {

using Kind = RopeScaling::Kind;

// Megatron's --rope-type, for multi-head latent attention.
static std::string kind_of_rope(std::string_view name) { return std::string(name == "rope" ? "none" : name); }

void list_fields(RopeScaling& c, config::FieldList& f) {
  f.group("Longer rope");
  f.add("rope-scaling-type", c.kind, {"unset", "none", "llama3", "yarn", "dynamic", "longrope"},
        "How rotary frequencies change for longer sequences; unset: none, with --multi-latent-attention and a factor "
        "above 1 yarn. dynamic and longrope go by --seq-length, in generation by the length of prompt and answer.")
      .means("--use-rope-scaling", "llama3", "Llama 3.1's scaling")
      .also(config::Spelling{.flag = "--rope-type", .convert = kind_of_rope, .help = "rope is none"});
  f.add(
       "rope-scaling-factor", c.factor,
       "How much longer sequences are; 0: 8 for llama3, for longrope max-position-embeddings over the original length, "
       "else 1.")
      .also("--rotary-scaling-factor")
      .also("--yarn-rotary-scaling-factor");
  f.add("rope-low-freq-factor", c.low_freq_factor,
        "llama3: wavelengths above the original length over this are scaled in full.");
  f.add("rope-high-freq-factor", c.high_freq_factor,
        "llama3: wavelengths below the original length over this do not change.");
  f.add("rope-original-max-position-embeddings", c.original_length,
        "The original length; 0: 8192, for yarn 4096, for dynamic and longrope max-position-embeddings.")
      .also("--yarn-original-max-position-embeddings")
      .also("--original-max-position-embeddings");
  f.add("yarn-beta-fast", c.beta_fast,
        "yarn: frequencies with at least this many rotations in the original length are not scaled.")
      .also("--beta-fast");
  f.add("yarn-beta-slow", c.beta_slow, "yarn: frequencies with at most this many rotations are scaled fully.")
      .also("--beta-slow");
  f.add_on("yarn-correction-range-round-to-int", c.whole_ends,
           "yarn: the ends of the ramp between the two are not rounded.");
  f.add("mscale", c.mscale, "yarn: cosines and sines are multiplied by (0.1 x this x ln factor + 1)")
      .also("--yarn-mscale");
  f.add("mscale-all-dim", c.mscale_all_dim,
        "yarn: and divided by the same of this; scores of --multi-latent-attention are multiplied by its square.")
      .also("--yarn-mscale-all-dim");
  f.add("rope-attention-factor", c.attention_factor,
        "yarn, longrope: the factor of cosines and sines, instead of the formula's. Not in Megatron.");
  f.add("rope-short-factor", c.short_factors,
        "longrope: divisors of the frequencies, for sequences up to the original length. Not in Megatron.");
  f.add("rope-long-factor", c.long_factors, "longrope: the same for longer sequences. Not in Megatron.");
}

void resolve(RopeScaling& c, bool latent, i64 max_position_embeddings) {
  if (c.kind == Kind::unset) c.kind = latent && c.factor > 1 ? Kind::yarn : Kind::none;
  const bool of_llama3 = c.kind == Kind::llama3 || c.kind == Kind::none;
  if (c.original_length == 0)
    c.original_length = of_llama3 ? 8192 : c.kind == Kind::yarn ? 4096 : max_position_embeddings;
  if (c.factor == 0) {
    c.factor = of_llama3 ? 8 : 1;
    if (c.kind == Kind::longrope && c.original_length > 0)
      c.factor = double(max_position_embeddings) / double(c.original_length);
  }
}

}  // namespace megalith
