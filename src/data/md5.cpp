#include "data/md5.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace megalith {

std::string md5_hex(std::span<const u8> bytes) {
  u8 digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  check(EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_md5(), nullptr) == 1,
        "the system's OpenSSL refuses MD5: leave out --data-cache-path");
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string md5_hex(const std::string& text) {
  return md5_hex(std::span(reinterpret_cast<const u8*>(text.data()), text.size()));
}

}  // namespace megalith
