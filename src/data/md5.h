// MD5, for the names of cached indices.
#pragma once
#include <span>
#include <string>

#include "base/dtype.h"

namespace megalith {

std::string md5_hex(std::span<const u8> bytes);  // 32 lowercase hexadecimal digits
std::string md5_hex(const std::string& text);

}  // namespace megalith
