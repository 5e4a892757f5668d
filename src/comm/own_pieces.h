// Pieces that a rank sends to itself.
#pragma once
#include <span>
#include <vector>

#include "comm/ranks.h"

namespace megalith {

// Copies the k-th piece sent to `rank` into the k-th received from it. Error if their numbers or sizes differ.
void copy_own_pieces(int rank, std::span<const Piece> sends, std::span<const Piece> receives);

// Those for other ranks. Error if a peer is no rank or a size is negative.
std::vector<Piece> pieces_of_others(const Place& place, std::span<const Piece> pieces);

}  // namespace megalith
