// BERT's settings in addition to a decoder's. Names and meanings are Megatron's flags where it has them.
#pragma once
#include "base/dtype.h"

namespace megalith {

namespace config {
class FieldList;
}

struct BertModelConfig {
  bool no_binary_head = false;  // without the loss of the order of two segments (SOP, NSP), its pooler and head
  bool post_norm = false;       // norm(x + attention(x)), no last norm (Devlin 2018); false: norms before (Megatron)
  i64 token_types = -1;         // rows of their table; 0: none; -1: 2 with the binary head, else none

  bool binary_head() const { return !no_binary_head; }
  bool operator==(const BertModelConfig&) const = default;
};

void list_fields(BertModelConfig& c, config::FieldList& f);

}  // namespace megalith
