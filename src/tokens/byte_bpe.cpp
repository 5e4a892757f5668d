#include "tokens/byte_bpe.h"

namespace megalith {

void ByteBpe::keep_whole(const std::vector<std::string>& tokens, i32 first_id) {
  BpeEncoder encoder(merges);
  std::vector<i32> ids;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token.empty()) continue;
    const i32 id = first_id + i32(i);
    ids.resize(token.size());
    const size_t count = encoder.encode(reinterpret_cast<const u8*>(token.data()), token.size(), ids.data());
    if (count != 1 || ids[0] != id) whole.insert_or_assign(token, id);
  }
}

}  // namespace megalith
