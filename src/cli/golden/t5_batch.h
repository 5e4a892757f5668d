// Batches of pairs of texts: an encoder reads the first, a decoder the second.
#pragma once
#include "cli/golden/golden_file.h"

namespace megalith {

// Of Megatron's T5: batchI.text_enc, text_dec, labels, loss_mask, enc_mask.
Batch megatron_t5_batch(GoldenFile& golden, int i);
// Of Hugging Face's: batchI.input_ids and labels (-100: does not count; the decoder reads them one behind, after a 0),
// and attention_mask where there is one.
Batch hf_t5_batch(GoldenFile& golden, int i);

}  // namespace megalith
