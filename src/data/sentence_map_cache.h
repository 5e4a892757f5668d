// Maps of sentences kept on disk under --data-cache-path, so that the ranks of a host, and later runs, share one. The
// files' form is ours: "<u4" [samples, 3].
#pragma once
#include <string>

#include "data/sentence_map.h"
#include "data/stored_array.h"

namespace megalith {

// The map from the folder's file, which is then mapped; it is built where it is missing, older than the data or unfit
// for them. Without a folder (""), or with a warning where it cannot be written, in memory.
StoredArray<SentenceSpan> load_or_build_sentence_map(const TokenSource& sentences,
                                                     const std::vector<i64>& document_begins,
                                                     const SentenceMapRequest& request, const std::string& folder);

}  // namespace megalith
