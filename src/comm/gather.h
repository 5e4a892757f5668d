// Each rank's text to all ranks, by way of rank 0, or to rank 0 alone.
#pragma once
#include <string>
#include <vector>

#include "comm/transport.h"

namespace megalith {

// Texts by rank. All ranks must call it. Error on every rank that came, naming those that did not, after the timeout;
// `doing` is what the errors say the ranks were at.
std::vector<std::string> gather_texts(Mail& mail, const Place& place, const std::string& mine, double timeout_seconds,
                                      const std::string& doing);

// Texts by rank on rank 0, nothing on the others. Error on rank 0, naming those that did not come, after the timeout.
std::vector<std::string> gather_at_first(Mail& mail, const Place& place, const std::string& mine,
                                         double timeout_seconds, const std::string& doing);

std::string list_ranks(const std::vector<int>& ranks);  // "rank 3", "ranks 1, 2 and 5"; of many the first few

}  // namespace megalith
