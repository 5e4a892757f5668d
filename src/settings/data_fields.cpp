// The field lists of the data and the tokenizer.
#include "config/field.h"
#include "settings/options.h"

namespace megalith {
namespace {

void list_fim(FimConfig& c, config::FieldList& f) {
  f.add("fim-data", c.on, "Fill-in-the-middle: cut documents in three and have the middle written last.");
  f.add("fim-rate", c.rate, "Part of the documents that are cut.");
  f.add("fim-spm-rate", c.spm_rate,
        "Fraction of these with the order suffix, prefix, middle instead of prefix, suffix, middle.");
  f.add("fim-split-sample", c.split_sample, "Token between the fragments (files) of a document, which are cut each.")
      .shown_as("TOKEN");
  f.add("fim-fragment-rate", c.fragment_rate, "Part of the fragments that are cut.");
  f.add("fim-no-prefix", c.no_prefix, "Do not cut texts that begin with this one.").shown_as("TEXT");
  f.add("fim-prefix-token", c.prefix_token, "Token before a prefix.").shown_as("TOKEN");
  f.add("fim-middle-token", c.middle_token, "Token before a middle.").shown_as("TOKEN");
  f.add("fim-suffix-token", c.suffix_token, "Token before a suffix.").shown_as("TOKEN");
  f.add("fim-pad-token", c.pad_token, "Token that pads a sample that became shorter.").shown_as("TOKEN");
  f.add("fim-eod-token", c.eod_token, "Token between documents.").shown_as("TOKEN");
}

}  // namespace

void list_fields(DataConfig& c, config::FieldList& f) {
  const char* const paths = "PREFIX | WEIGHT PREFIX ...";
  f.group("Data");
  f.add("data-path", c.data_path, "Datasets (files without .bin and .idx), cut into splits by --split.")
      .shown_as(paths);
  f.add("train-data-path", c.train_data_path, "Datasets to train on, instead of --data-path.").shown_as(paths);
  f.add("valid-data-path", c.valid_data_path, "Datasets to evaluate on while training.").shown_as(paths);
  f.add("test-data-path", c.test_data_path, "Datasets to evaluate on at the end.").shown_as(paths);
  f.add("data-args-path", c.data_args_path, "File with the words of --data-path.").shown_as("FILE");
  f.add("per-split-data-args-path", c.per_split_data_args_path,
        "JSON file with the words of --train-, --valid- and --test-data-path, under train, valid and test.")
      .shown_as("FILE");
  f.add("multiple-validation-sets", c.multiple_validation_sets,
        "Evaluate on each validation dataset separately, with --full-validation.");
  f.add("validation-set-names", c.validation_set_names, "Their names in logs; default: numbers from 0 on.")
      .shown_as("NAME ...");
  f.add("mock-data", c.mock_data, "Generated documents, for trials.");
  f.add("split", c.split, "Parts of --data-path for training, validation and test; default: 969, 30, 1.")
      .shown_as("A,B,C");
  f.add("data-cache-path", c.data_cache_path, "Directory that keeps the order of samples for the next run.")
      .shown_as("DIR");
  f.add("mid-level-dataset-surplus", c.mid_level_dataset_surplus,
        "How much more of each dataset of a blend is indexed.");
  f.add("dataloader-type", c.dataloader_type, {"single", "cyclic", "external"},
        "single: in order; cyclic: each epoch in another order; external: in the order of --data-order-file.");
  f.add("data-order-file", c.data_order_file,
        "external: the numbers of the training samples in the order to read them, a .npy file of 64-bit integers "
        "(int64), one "
        "dimension; validation and test stay in order. Not in Megatron.")
      .shown_as("FILE.npy");
  f.add_on("data-sharding", c.data_sharding, "cyclic: every rank reads from the full dataset.");
  f.add("num-workers", c.num_workers,
        "Threads that read batches ahead, two for each; 0: batches are read when they are needed.");
  f.add("reset-position-ids", c.reset_position_ids, "Positions restart after each end of document.");
  f.add("reset-attention-mask", c.reset_attention_mask, "Tokens do not attend across an end of document.");
  f.add("allow-ambiguous-pad-tokens", c.allow_ambiguous_pad_tokens,
        "Mask the tokenizer's padding in the loss even if it is also another special token, such as the end of "
        "document.");
  f.add("eod-mask-loss", c.eod_mask_loss, "The prediction after an end-of-document token does not count in the loss.");
  f.add("sft", c.sft,
        "Fine-tune on chats: the paths are JSON lines with \"messages\", and only the assistant's turns are learned.");
  f.add("sft-tokenizer-prompt-format", c.sft_prompt_format,
        "Chat template: default (the tokenizer's own), nemotron-h-aligned, nemotron-nano-v2, identity, chatml, llama3, "
        "mistral, or a FILE.jinja.")
      .shown_as("NAME");
  f.add_on("sft-packing", c.sft_packing, "One conversation in each sample, not as many as fit. Not in Megatron.");
  f.add("sft-too-long", c.sft_too_long, {"truncate", "skip"},
        "What to do with conversations longer than seq-length. Not in Megatron.");
  f.add("sft-skip-bad-lines", c.sft_skip_bad_lines,
        "Leave out, and count, lines that are no chat or that the template refuses. Not in Megatron.");
  f.add("sft-date", c.sft_date, "The date that templates see. Not in Megatron.").shown_as("YYYY-MM-DD");
  f.add("retro-project-dir", c.retro_project_dir,
        "RETRO: the directory of the samples' neighbours, written by megalith retro build.")
      .shown_as("DIR");
  f.add("mask-prob", c.mask_prob, "BERT, T5: fraction of tokens that are predicted.");
  f.add("short-seq-prob", c.short_seq_prob, "BERT, T5: fraction of samples that are shorter.");
  list_fim(c.fim, f);
}

// BigScience's and Megatron-DeepSpeed's name, GPT-NeoX's and BigCode's are for one kind.
static std::string tokenizer_type_today(std::string_view name) {
  for (const char* other : {"PretrainedFromHF", "HFTokenizer", "TokenizerFromFile"})
    if (name == other) return "HuggingFaceTokenizer";
  return std::string(name);
}

void list_fields(TokenizerConfig& c, config::FieldList& f) {
  f.group("Tokenizer");
  f.add("tokenizer-type", c.type,
        "GPT2BPETokenizer, HuggingFaceTokenizer (also SFTTokenizer), SentencePieceTokenizer (also "
        "GPTSentencePieceTokenizer, "
        "Llama2Tokenizer), "
        "TikTokenizer, Llama3Tokenizer, BertWordPieceLowerCase, BertWordPieceCase, NullTokenizer (numbers) or "
        "ByteTokenizer "
        "(bytes): see docs/tokenizers.md.")
      .shown_as("TYPE")
      .spellings.front()
      .convert = tokenizer_type_today;
  f.add("vocab-file", c.vocab_file, "vocab.json of GPT2BPETokenizer, vocab.txt of BertWordPiece*.").shown_as("FILE");
  f.add("merge-file", c.merge_file, "merges.txt of GPT2BPETokenizer.").shown_as("FILE");
  f.add("tokenizer-model", c.tokenizer_model,
        "HuggingFaceTokenizer: tokenizer.json or its directory; SentencePieceTokenizer: .model; TikTokenizer: "
        "Megatron's .json "
        "or tiktoken's ranks; Llama3Tokenizer: tokenizer.model.")
      .shown_as("FILE");
  f.add("vocab-extra-ids", c.vocab_extra_ids,
        "BertWordPiece*, GPT2BPETokenizer: number of sentinels <extra_id_N> after the vocabulary, for a T5.");
  f.add("tiktoken-pattern", c.tiktoken_pattern,
        "v1 or v2 (the default with Megatron's .json), gpt2, cl100k, o200k, llama3 or qwen (default: found by the "
        "ranks).")
      .shown_as("NAME");
  f.add("tiktoken-num-special-tokens", c.tiktoken_num_special, "Ids before the ranks of Megatron's .json.");
  f.add("tiktoken-special-tokens", c.tiktoken_special_tokens,
        "Names of TikTokenizer's special tokens, in the order of ids.");
  f.add("tokenizer-hf-no-include-special-tokens", c.hf_no_special_tokens,
        "Do not add the tokenizer's special tokens ([CLS] and [SEP], a bos) around each text.");
  f.add("null-tokenizer-eod-id", c.null_eod_id, "NullTokenizer's end of document; -1: vocab-size - 1.");
  f.add("null-tokenizer-pad-id", c.null_pad_id, "NullTokenizer's padding; -1: none.");
  f.add_on("special-tokens-in-text", c.special_tokens_in_text,
           "Split the texts of special tokens, such as <|endoftext|>, like any other, as older Megatron did. Not in "
           "Megatron.");
}

}  // namespace megalith
