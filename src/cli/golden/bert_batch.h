// Batches of golden BERT cases in our model's form.
#pragma once
#include "cli/golden/golden_file.h"

namespace megalith {

// batchI.text, types, labels, loss_mask, padding_mask [b,s] and is_random [b], as in Megatron's samples.
Batch megatron_bert_batch(GoldenFile& golden, int i);

// batchI.input_ids, token_type_ids, attention_mask, labels (-100: masked) [b,s], and next_sentence_label [b] for a
// model of pairs, as in transformers.
Batch hf_bert_batch(GoldenFile& golden, int i, bool pairs);

// The number of tokens in the loss.
double counted_tokens(const Batch& batch);

// Whether a sequence has this token before its padding.
bool has_token(const Batch& batch, i64 id);

}  // namespace megalith
