// Builds the train, valid and test sets of --sft from files of chats.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "data/build_datasets.h"
#include "data/sft_dataset.h"

namespace megalith {

using ReadConversations = std::function<std::shared_ptr<const Conversations>(const std::string& file)>;
using TellReport = std::function<void(Split split, const SftReport& report)>;

// Data flags have the same meaning as for text: --data-path with --split, or paths for each split, with or without
// weights. `read` reads a file, once each. `tell` is called for each set. Error: see build_datasets.
Datasets build_sft_datasets(const DataConfig& config, const SampleCounts& counts, const ReadConversations& read,
                            const TellReport& tell);

}  // namespace megalith
