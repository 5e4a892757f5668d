// Compressed bytes for tests, made by the formats' own libraries.
#pragma once
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>

namespace megalith {

inline std::string gzipped(std::string_view bytes) {
  z_stream s{};
  constexpr int kGzipHeader = 16;
  deflateInit2(&s, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzipHeader, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&s, bytes.size()), '\0');
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  s.avail_in = uInt(bytes.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = uInt(out.size());
  deflate(&s, Z_FINISH);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

inline std::string zstd_packed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

}  // namespace megalith
