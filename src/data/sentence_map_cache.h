// Sentence maps on disk under --data-cache-path, so that the ranks of a host, and later runs, share them. The format
// is ours: "<u4" [samples, 3].
#pragma once
#include <string>

#include "data/sentence_map.h"
#include "data/stored_array.h"

namespace megalith {

// Maps the file of the folder. Builds it first if it is missing, older than the data, or does not fit the data.
// Without a folder ("") the map is in memory; also, with a warning, if the folder is not writable.
StoredArray<SentenceSpan> load_or_build_sentence_map(const TokenSource& sentences,
                                                     const std::vector<i64>& document_begins,
                                                     const SentenceMapRequest& request, const std::string& folder);

}  // namespace megalith
