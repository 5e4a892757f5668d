// Batches of pairs of texts: the encoder reads the first, the decoder the second.
#pragma once
#include "cli/golden/golden_file.h"

namespace megalith {

// From Megatron's T5: batchI.text_enc, text_dec, labels, loss_mask, enc_mask.
Batch megatron_t5_batch(GoldenFile& golden, int i);
// From Hugging Face: batchI.input_ids and labels (-100: masked), and optionally attention_mask. The decoder reads the
// labels shifted by one, after `start`, with `pad` for masked ones.
Batch hf_t5_batch(GoldenFile& golden, int i, i32 start, i32 pad);

}  // namespace megalith
