// Batches of pairs of texts: an encoder reads the first, a decoder the second.
#pragma once
#include "cli/golden/golden_file.h"

namespace megalith {

// Of Megatron's T5: batchI.text_enc, text_dec, labels, loss_mask, enc_mask.
Batch megatron_t5_batch(GoldenFile& golden, int i);
// Of Hugging Face's: batchI.input_ids and labels (-100: does not count), and attention_mask where there is one. The
// decoder reads the labels one behind, after `start`, and `pad` where none counts.
Batch hf_t5_batch(GoldenFile& golden, int i, i32 start, i32 pad);

}  // namespace megalith
