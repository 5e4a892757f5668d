#include "tokens/byte_source.h"

#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace megalith {

namespace {

constexpr std::string_view kGzip = ".gz", kZstd = ".zst";

class PlainFile : public ByteSource {
 public:
  explicit PlainFile(const std::string& name) : name_(name), file_(std::fopen(name.c_str(), "rb")) {
    check(file_ != nullptr, "--input {} cannot be opened: {}", name, std::strerror(errno));
  }

  size_t read(char* to, size_t most) override {
    const size_t got = std::fread(to, 1, most, file_.get());
    check(got == most || !std::ferror(file_.get()), "--input {} cannot be read: {}", name_, std::strerror(errno));
    bytes_ += i64(got);
    return got;
  }
  i64 file_bytes() const override { return bytes_; }
  const std::string& name() const { return name_; }

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  i64 bytes_ = 0;
};

// Reads a sequence of compressed parts through a Format:
//   size_t unpack(const char*& from, const char* end, char* to, size_t room): bytes written; fails with the reason
//   bool whole(): whether the data may end here
template <class Format>
class PackedFile : public ByteSource {
 public:
  explicit PackedFile(const std::string& name) : file_(name), format_(name), packed_(size_t{1} << 17) {}

  size_t read(char* to, size_t most) override {
    size_t got = 0;
    while (got < most) {
      const size_t unpacked = format_.unpack(next_, end_, to + got, most - got);
      got += unpacked;
      if (unpacked > 0 || next_ < end_) continue;
      next_ = packed_.data();
      end_ = next_ + file_.read(packed_.data(), packed_.size());
      if (next_ < end_) continue;
      check(format_.whole(), "--input {} ends in the middle of its packed data: it is truncated; get it again",
            file_.name());
      break;
    }
    return got;
  }
  i64 file_bytes() const override { return file_.file_bytes(); }

 private:
  PlainFile file_;
  Format format_;
  std::vector<char> packed_;
  const char *next_ = nullptr, *end_ = nullptr;  // the compressed bytes in memory
};

// RFC 1952: a sequence of members. Zero bytes may follow the last.
class Gzip {
 public:
  explicit Gzip(const std::string& name) : name_(name) {
    constexpr int kGzipHeader = 16;
    check(inflateInit2(&stream_, MAX_WBITS + kGzipHeader) == Z_OK, "zlib has no memory to unpack {}", name_);
  }
  ~Gzip() { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  size_t unpack(const char*& from, const char* end, char* to, size_t room) {
    while (between_ && members_ > 0 && from < end && *from == 0) ++from;
    if (from == end && between_) return 0;
    constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits
    const size_t offered = std::min(room, kMost);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from));
    stream_.avail_in = uInt(end - from);
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = uInt(offered);
    between_ = false;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    from = end - stream_.avail_in;
    if (status == Z_STREAM_END) {
      between_ = true, ++members_;
      inflateReset(&stream_);
    } else {
      check(status == Z_OK || status == Z_BUF_ERROR, "--input {} is damaged or not packed by gzip ({}): get it again",
            name_, stream_.msg ? stream_.msg : "no reason given");
    }
    return offered - stream_.avail_out;
  }
  bool whole() const { return between_ && members_ > 0; }

 private:
  std::string name_;
  z_stream stream_{};
  bool between_ = true;  // of members
  i64 members_ = 0;
};

// RFC 8878: a sequence of frames.
class Zstd {
 public:
  explicit Zstd(const std::string& name) : name_(name), stream_(ZSTD_createDStream()) {
    check(stream_ != nullptr, "zstd has no memory to unpack {}", name_);
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, 31);  // also reads files of `zstd --long=31`
  }

  size_t unpack(const char*& from, const char* end, char* to, size_t room) {
    ZSTD_inBuffer in{from, size_t(end - from), 0};
    ZSTD_outBuffer out{to, room, 0};
    if (in.size == 0 && left_ == 0) return 0;
    left_ = ZSTD_decompressStream(stream_.get(), &out, &in);
    check(!ZSTD_isError(left_), "--input {} is damaged or not packed by zstd ({}): get it again", name_,
          ZSTD_getErrorName(left_));
    from += in.pos;
    begun_ = true;
    return out.pos;
  }
  bool whole() const { return begun_ && left_ == 0; }

 private:
  struct Free {
    void operator()(ZSTD_DStream* s) const { ZSTD_freeDStream(s); }
  };
  std::string name_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  bool begun_ = false;
  size_t left_ = 0;  // 0: at the end of a frame
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& file) {
  if (file.ends_with(kGzip)) return std::make_unique<PackedFile<Gzip>>(file);
  if (file.ends_with(kZstd)) return std::make_unique<PackedFile<Zstd>>(file);
  return std::make_unique<PlainFile>(file);
}

std::string_view unpacked_name(std::string_view file) {
  for (const std::string_view end : {kGzip, kZstd}) {
    if (file.ends_with(end)) return file.substr(0, file.size() - end.size());
  }
  return file;
}

}  // namespace megalith
