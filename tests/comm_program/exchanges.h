// What the ranks of a test do with exchange(), and how they check it.
#pragma once
#include "comm/ranks.h"

namespace megalith::test {

void exchange_randomly(Ranks& ranks);               // random pieces among all, many tags in flight
void exchange_large(Ranks& ranks, i64 bytes);       // around the ring
void exchange_ordered(Ranks& ranks);                // one tag, many pieces, several exchanges under way
void exchange_wrong_sizes(Ranks& ranks, i64 sent);  // rank 0 sends so much to rank 1, which expects 100 bytes
void time_exchanges(Ranks& ranks, i64 bytes);       // prints seconds of an exchange of all with all
void gather_texts_often(Ranks& ranks);              // texts of many lengths
void gather_at_first_often(Ranks& ranks);           // to rank 0, between others to all

}  // namespace megalith::test
