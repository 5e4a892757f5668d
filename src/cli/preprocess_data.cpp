// `megalith preprocess-data`: makes indexed datasets of JSON lines.
#include "cli/command.h"
#include "cli/own_flags.h"
#include "cli/preprocess_others.h"
#include "complete/hub_names.h"
#include "settings/options.h"
#include "tokens/preprocess.h"

namespace megalith {

static void list_fields(PreprocessConfig& c, config::FieldList& f) {
  f.group("Input and output");
  f.add("input", c.input,
        "Files or patterns: .txt is text, one document a file; others have one JSON object a line; .gz or .zst may "
        "follow.");
  f.add("output-prefix", c.output_prefix, "Writes PREFIX_KEY_document.bin and .idx.").shown_as("PREFIX");
  f.add("json-keys", c.json_keys, "Members of each JSON object to tokenize.");
  f.add("append-eod", c.append_eod, "End every document with the end-of-document token.");
  f.add("split-lines", c.split_lines, "Each line of a .txt file is a document.");
  f.add("split-sentences", c.split_sentences,
        "Each sentence is a sequence of its document; writes PREFIX_KEY_sentence.bin and .idx.");
  f.add("keep-newlines", c.keep_newlines, "With --split-sentences: keep the white space between sentences.");
  f.add("lang", c.lang, "With --split-sentences: the language whose abbreviations are known.");
  f.add("partitions", c.partitions,
        "Distribute documents to this many parts in turn, and join the parts: Megatron's order.");
  f.add("keep-sequential-samples", c.keep_sequential_samples, "With --partitions: keep the input's order.");
  f.add("skip-bad-lines", c.skip_bad_lines, "Report and count broken lines instead of failing at the first.");
  f.add("workers", c.workers, "Threads.");
  f.add("log-interval", c.log_interval, "Documents between two progress lines.");
  list_fields(c.tokenizer, f);
  f.find("vocab-file")->also("--vocab");  // before 2021
  f.add("vocab-size", c.tokenizer.vocab_size,
        "Tokens of NullTokenizer, and of TikTokenizer with Megatron's file (0: 131072).");
}

int command_preprocess_data(int argc, const char* const* argv) {
  PreprocessConfig c;
  const auto check_flags = [&](FlagChecks& checks) {
    if (c.tokenizer.type.empty()) c.tokenizer.type = default_tokenizer_type(c.tokenizer);
    checks.given({{"--input", !c.input.empty()},
                  {"--output-prefix", !c.output_prefix.empty()},
                  {"--tokenizer-type", !c.tokenizer.type.empty()}});
    checks.run([&] { find_tokenizer_on_hub(c.tokenizer); });
  };
  if (!read_flags(c, argc, argv, preprocess_others(), check_flags)) return 0;
  const PreprocessResult r = preprocess(c);
  if (r.documents == 0) log::warn("--input holds no documents: the output has no data to train on");
  log::say("{} documents, {} tokens, {:.2f} MB in {:.2f} s{}", r.documents, r.tokens, double(r.bytes) / 1e6, r.seconds,
           r.bad_lines > 0 ? fmt::format(", {} broken lines skipped", r.bad_lines) : "");
  return 0;
}

}  // namespace megalith
