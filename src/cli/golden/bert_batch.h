// Batches of golden cases of BERT, as our model reads them.
#pragma once
#include "cli/golden/golden_file.h"

namespace megalith {

// batchI.text, types, labels, loss_mask, padding_mask [b,s] and is_random [b], as Megatron's samples.
Batch megatron_bert_batch(GoldenFile& golden, int i);

// batchI.input_ids, token_type_ids, attention_mask, labels (-100: not predicted) [b,s] and, of a model of pairs,
// next_sentence_label [b], as transformers reads them.
Batch hf_bert_batch(GoldenFile& golden, int i, bool pairs);

// How many tokens of the batch count in the loss.
double counted_tokens(const Batch& batch);

// Whether some sequence has this token among those that are real.
bool has_token(const Batch& batch, i64 id);

}  // namespace megalith
