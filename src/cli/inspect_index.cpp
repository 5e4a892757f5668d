#include "cli/inspect_index.h"

#include <algorithm>

#include "base/check.h"
#include "base/escape.h"
#include "base/log.h"
#include "data/indexed_dataset.h"

namespace megalith {

namespace {

// The first tokens of a document, at most `most`.
std::vector<i32> first_tokens(const IndexedDataset& data, i64 document, i64 most) {
  std::vector<i32> tokens;
  for (i64 s = data.document_begin(document); s < data.document_begin(document + 1); ++s) {
    std::vector<i32> part(size_t(std::min(data.length(s), most - i64(tokens.size()))));
    data.read(s, 0, part);
    tokens.insert(tokens.end(), part.begin(), part.end());
  }
  return tokens;
}

void print_lengths(const IndexedDataset& data) {
  i64 shortest = data.sequences() > 0 ? data.length(0) : 0, longest = shortest, empty = 0;
  for (i64 s = 0; s < data.sequences(); ++s)
    shortest = std::min(shortest, data.length(s)), longest = std::max(longest, data.length(s));
  for (i64 d = 0; d < data.documents(); ++d) empty += data.document_begin(d) == data.document_begin(d + 1);
  log::say("lengths     {} to {} tokens a sequence, {:.1f} on average; {} documents are empty", shortest, longest,
           data.sequences() > 0 ? double(data.tokens()) / double(data.sequences()) : 0.0, empty);
}

void print_document(const IndexedDataset& data, const TokenizerConfig& tokenizer, i64 document) {
  constexpr i64 kMostIds = 16, kMostDecoded = 256;
  i64 length = 0;
  for (i64 s = data.document_begin(document); s < data.document_begin(document + 1); ++s) length += data.length(s);
  log::say("document {}: {} sequences, {} tokens", document,
           data.document_begin(document + 1) - data.document_begin(document), length);
  std::string ids;
  for (i32 id : first_tokens(data, document, kMostIds)) ids += fmt::format(" {}", id);
  log::say("ids        {}{}", ids, length > kMostIds ? " ..." : "");
  if (tokenizer.type.empty()) return;
  const std::string text = make_tokenizer(tokenizer)->decode(first_tokens(data, document, kMostDecoded));
  log::say("text        {}{}", escape_controls(text), length > kMostDecoded ? " ..." : "");
}

}  // namespace

void print_index(const std::string& idx_path, const TokenizerConfig& tokenizer, i64 document) {
  const IndexedDataset data(idx_path.substr(0, idx_path.size() - 4));
  log::say("format      indexed dataset{}\ndocuments   {}\nsequences   {}\ntokens      {}\ntype        {}",
           data.has_modes() ? ", multimodal" : "", data.documents(), data.sequences(), data.tokens(),
           name_of(data.type()));
  print_lengths(data);
  if (data.documents() == 0) return;
  check(document >= 0 && document < data.documents(), "--document is {}: {} has the documents 0 to {}", document,
        idx_path, data.documents() - 1);
  print_document(data, tokenizer, document);
}

}  // namespace megalith
