// From files of chats to the train, valid and test sets of --sft.
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
// weights. But `read` reads the files, each once. `tell` is called for each set. Error as build_datasets.
Datasets build_sft_datasets(const DataConfig& config, const SampleCounts& counts, const ReadConversations& read,
                            const TellReport& tell);

}  // namespace megalith
