#include "ckpt/tensors/files.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "base/read_error.h"
#include "base/read_file.h"
#include "ckpt/tensors/durable_file.h"

namespace megalith {
namespace {

// An open descriptor that closes itself.
struct Descriptor {
  int fd;
  Descriptor(const std::string& path, int flags) : fd(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (fd < 0) fail_errno("open", path);
  }
  ~Descriptor() { ::close(fd); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// f gets each piece of the file.
template <class F>
void read_pieces(const std::string& path, F&& f) {
  constexpr i64 kPiece = i64{1} << 20;
  const ReadFile file(path);
  std::vector<std::byte> buffer;
  for (i64 at = 0; at < file.size(); at += kPiece) {
    buffer.resize(std::size_t(std::min(kPiece, file.size() - at)));
    file.read(at, buffer);
    f(std::string_view(reinterpret_cast<const char*>(buffer.data()), buffer.size()));
  }
}

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void free_state(XXH64_state_s* state) { XXH64_freeState(state); }

}  // namespace

void tell_step(const StepHook& hook, std::string_view kind, const std::string& path, const std::string& target) {
  if (hook) hook({kind, path, target});
}

void fail_errno(std::string_view what, const std::string& path) {
  const int error = errno;
  fail("[file] cannot {} {}: {}", what, path, std::strerror(error));
}

Xxh64::Xxh64() : state_(XXH64_createState(), free_state) { XXH64_reset(state_.get(), 0); }
void Xxh64::add(std::span<const std::byte> bytes) { XXH64_update(state_.get(), bytes.data(), bytes.size()); }
u64 Xxh64::value() const { return XXH64_digest(state_.get()); }

u64 xxh64(std::span<const std::byte> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }
u64 xxh64(std::string_view text) { return XXH64(text.data(), text.size(), 0); }

u64 xxh64_of_file(const std::string& path) {
  Xxh64 sum;
  read_pieces(path, [&](std::string_view piece) { sum.add(as_bytes(piece)); });
  return sum.value();
}

std::string read_text(const std::string& path) {
  std::string text;
  read_pieces(path, [&](std::string_view piece) { text += piece; });
  return text;
}

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  if (!file_exists(path)) return names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) throw_read_error("list", path, error.value());
  return names;
}

bool directory_has(const std::string& path, const std::function<bool(const std::string&)>& is_meant) {
  std::error_code error;
  const bool is_file = !std::filesystem::is_directory(path, error) && !error;
  return !is_file && std::ranges::any_of(list_directory(path), is_meant);
}

void write_text(const std::string& path, std::string_view text, const StepHook& hook) {
  DurableFile file(path, hook);
  file.write(as_bytes(text));
  file.sync();
}

void make_directory(const std::string& path, const StepHook& hook) {
  tell_step(hook, "mkdir", path);
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) fail_errno("create directory", path);
  check(std::filesystem::is_directory(path), "[file] {} is not a directory", path);
}

// The descriptor is opened before the question, so that both are about the same directory.
void make_directory_in(const std::string& parent, const std::string& name, const std::function<void()>& is_meant,
                       const StepHook& hook) {
  const Descriptor directory(parent, O_RDONLY | O_DIRECTORY);
  is_meant();
  const std::string path = parent + "/" + name;
  tell_step(hook, "mkdir", path);
  if (::mkdirat(directory.fd, name.c_str(), 0755) != 0 && errno != EEXIST) fail_errno("create directory", path);
}

void make_directories(const std::string& path, const StepHook& hook) {
  if (std::filesystem::is_directory(path)) return;
  const std::string parent = parent_of(path);
  if (parent != path) make_directories(parent, hook);
  make_directory(path, hook);
  sync_directory(parent, hook);
}

void rename_path(const std::string& from, const std::string& to, const StepHook& hook) {
  tell_step(hook, "rename", from, to);
  if (::rename(from.c_str(), to.c_str()) != 0) fail_errno("rename to", to);
}

bool exchange_paths(const std::string& a, const std::string& b, const StepHook& hook) {
  tell_step(hook, "exchange", a, b);
  if (::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return false;
  fail_errno("rename to", b);
}

void sync_directory(const std::string& path, const StepHook& hook) {
  tell_step(hook, "fsync-dir", path);
  const Descriptor directory(path, O_RDONLY | O_DIRECTORY);
  // Some network file systems refuse fsync of a directory; their renames are durable.
  if (::fsync(directory.fd) != 0 && errno != EINVAL && errno != EROFS) fail_errno("sync directory", path);
}

void remove_tree(const std::string& path, const StepHook& hook) {
  tell_step(hook, "remove", path);
  std::error_code error;
  std::filesystem::remove_all(path, error);
  check(!error, "[file] cannot remove {}: {}", path, error.message());
}

void replace_text(const std::string& path, std::string_view text, const StepHook& hook, const std::string& by) {
  const std::string name = by.empty() ? path : by + "/" + std::filesystem::path(path).filename().string();
  const std::string temporary = name + ".tmp-" + std::to_string(::getpid());
  try {
    write_text(temporary, text, hook);
    rename_path(temporary, path, hook);
  } catch (const std::exception&) {
    ::unlink(temporary.c_str());  // a partial file would keep a full disk full
    throw;
  }
  sync_directory(parent_of(path), hook);
}

}  // namespace megalith
