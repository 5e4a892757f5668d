// Gathers each rank's text on all ranks (through rank 0), or on rank 0 only.
#pragma once
#include <string>
#include <vector>

#include "comm/transport.h"

namespace megalith {

// Returns texts by rank. All ranks must call it. After the timeout each rank that called it gets an Error that names
// the missing ranks. `doing` says in the Error what the ranks were doing.
std::vector<std::string> gather_texts(Mail& mail, const Place& place, const std::string& mine, double timeout_seconds,
                                      const std::string& doing);

// Returns texts by rank on rank 0, and nothing on other ranks. After the timeout rank 0 gets an Error that names the
// missing ranks.
std::vector<std::string> gather_at_first(Mail& mail, const Place& place, const std::string& mine,
                                         double timeout_seconds, const std::string& doing);

std::string list_ranks(const std::vector<int>& ranks);  // "rank 3", "ranks 1, 2 and 5"; of many the first few

}  // namespace megalith
