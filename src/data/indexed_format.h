// Constants of the .idx header that the reader and the writer share.
#pragma once
#include <array>
#include <bit>

#include "base/dtype.h"

namespace megalith {

constexpr std::array<u8, 9> kIndexMagic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
constexpr u64 kIndexVersion = 1;
constexpr i64 kIndexHeaderBytes = 34;
static_assert(std::endian::native == std::endian::little, "the files are little-endian and read as they are");

}  // namespace megalith
