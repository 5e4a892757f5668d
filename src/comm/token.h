// What only the ranks of one run know, so that strangers who find a port are turned away.
#pragma once
#include <string>

namespace megalith {

std::string random_token();  // 32 hexadecimal digits

}  // namespace megalith
