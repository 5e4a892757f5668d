// A secret of the ranks of one run, so that strangers who find a port are refused.
#pragma once
#include <string>

namespace megalith {

std::string random_token();  // 32 hexadecimal digits

}  // namespace megalith
