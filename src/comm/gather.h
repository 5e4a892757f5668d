// Each rank's text to all ranks, by way of rank 0.
#pragma once
#include <string>
#include <vector>

#include "comm/transport.h"

namespace megalith {

// Texts by rank. All ranks must call it. Error on every rank that came, naming those that did not, after the timeout;
// `doing` is what the errors say the ranks were at.
std::vector<std::string> gather_texts(Mail& mail, const Place& place, const std::string& mine, double timeout_seconds,
                                      const std::string& doing);

std::string list_ranks(const std::vector<int>& ranks);  // "rank 3", "ranks 1, 2 and 5"; of many the first few

}  // namespace megalith
