// BERT's settings in addition to those of a decoder. Names and meanings are Megatron's flags where Megatron has them.
#pragma once
#include "base/dtype.h"

namespace megalith {

namespace config {
class FieldList;
}

struct BertModelConfig {
  bool no_binary_head = false;  // no loss for the order of two segments (SOP, NSP), no pooler, no binary head
  // norm(x + attention(x)), no last norm (Devlin 2018); false: norms before the blocks (Megatron)
  bool post_norm = false;
  i64 token_types = -1;  // rows of the token-type table; 0: none; -1: 2 with the binary head, else none

  bool binary_head() const { return !no_binary_head; }
  bool operator==(const BertModelConfig&) const = default;
};

void list_fields(BertModelConfig& c, config::FieldList& f);

}  // namespace megalith
