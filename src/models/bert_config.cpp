#include "models/bert_config.h"

#include "config/field.h"

namespace megalith {

void list_fields(BertModelConfig& c, config::FieldList& f) {
  f.group("BERT");
  f.add("bert-no-binary-head", c.no_binary_head,
        "Samples are one segment of text, without the task of two segments' order: no token types, pooler and second "
        "loss.");
  f.add("bert-post-norm", c.post_norm,
        "Norms come after attention and MLP, and none after the last layer, as in Google's BERT; also give "
        "--embedding-layernorm. Not in Megatron.");
  f.add("bert-token-types", c.token_types,
        "Rows of the table of token types; -1: 2 with the binary head, else none. Not in Megatron.");
}

}  // namespace megalith
