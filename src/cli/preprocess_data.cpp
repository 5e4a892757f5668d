#include "cli/command.h"
#include "cli/own_flags.h"
#include "tokens/preprocess.h"
#include "train/options.h"

namespace megalith {

static void list_fields(PreprocessConfig& c, config::FieldList& f) {
  f.group("Input and output");
  f.add("input", c.input, "Files: .txt is text, one document a file; others hold one JSON object a line.");
  f.add("output-prefix", c.output_prefix, "Writes PREFIX_KEY_document.bin and .idx.").shown_as("PREFIX");
  f.add("json-keys", c.json_keys, "Members of each JSON object to tokenize.");
  f.add("append-eod", c.append_eod, "End every document with the end-of-document token.");
  f.add("split-lines", c.split_lines, "Each line of a .txt file is a document.");
  f.add("workers", c.workers, "Threads.");
  f.add("log-interval", c.log_interval, "Documents between two lines of progress.");
  list_fields(c.tokenizer, f);
  f.add("vocab-size", c.tokenizer.vocab_size,
        "Tokens of NullTokenizer, and of TikTokenizer with Megatron's file (0: 131072).");
}

int command_preprocess_data(int argc, const char* const* argv) {
  PreprocessConfig c;
  if (!read_flags(c, argc, argv)) return 0;
  check(!c.input.empty() && !c.output_prefix.empty() && !c.tokenizer.type.empty(),
        "--input, --output-prefix and --tokenizer-type are required");
  const PreprocessResult r = preprocess(c);
  log::say("{} documents, {} tokens, {:.2f} MB in {:.2f} s", r.documents, r.tokens, double(r.bytes) / 1e6, r.seconds);
  return 0;
}

}  // namespace megalith
