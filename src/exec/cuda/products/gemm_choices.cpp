#include "exec/cuda/products/gemm_choices.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/rng.h"

namespace megalith::cuda {

namespace {

using Json = nlohmann::json;
using Choices = std::map<std::string, GemmChoice>;

constexpr std::string_view kStart = "{\"megalith gemm choices\":1,\"sum\":\"";
constexpr std::string_view kMiddle = "\",\"machines\":";
constexpr std::streamoff kLargest = std::streamoff{64} << 20;  // bytes; real files have a few thousand

struct Content {
  enum Kind { kNone, kOurs, kDamaged, kForeign } kind = kNone;
  std::map<std::string, Choices> machines;
};

std::string hex(const std::vector<u8>& bytes) {
  std::string text;
  for (u8 b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

std::vector<u8> from_hex(const std::string& text) {
  std::vector<u8> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(u8(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string checksum(std::string_view text) { return fmt::format("{:016x}", hash_name(text)); }

std::map<std::string, Choices> parse(std::string_view machines) {
  std::map<std::string, Choices> all;
  const Json read = Json::parse(machines);
  for (const auto& [machine, problems] : read.items())
    for (const auto& [problem, choice] : problems.items())
      all[machine][problem] = {from_hex(choice.at("algorithm").get<std::string>()), choice.at("ms").get<double>()};
  return all;
}

Content content_of(std::string_view text) {
  if (text.empty()) return {};
  if (!text.starts_with(kStart)) return {kStart.starts_with(text) ? Content::kDamaged : Content::kForeign, {}};
  if (text.ends_with("}\n")) text.remove_suffix(2);
  const size_t middle = kStart.size() + 16, machines = middle + kMiddle.size();
  if (text.size() < machines || text.substr(middle, kMiddle.size()) != kMiddle) return {Content::kDamaged, {}};
  const std::string_view body = text.substr(machines);
  if (text.substr(kStart.size(), 16) != checksum(body)) return {Content::kDamaged, {}};
  try {
    return {Content::kOurs, parse(body)};
  } catch (const std::exception&) {
    return {Content::kDamaged, {}};
  }
}

// The content of one open file, because another one may replace it at any time.
Content read(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  if (!std::filesystem::is_regular_file(file, error)) return {Content::kForeign, {}};
  std::ifstream in(file, std::ios::binary);
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  if (!in || size > kLargest) return {Content::kForeign, {}};
  std::string text(size_t(size), '\0');
  in.seekg(0);
  if (!in.read(text.data(), size)) return {Content::kForeign, {}};
  return content_of(text);
}

std::string text_of(const std::map<std::string, Choices>& all) {
  Json machines = Json::object();
  for (const auto& [machine, choices] : all)
    for (const auto& [problem, choice] : choices)
      machines[machine][problem] = {{"algorithm", hex(choice.algorithm)}, {"ms", choice.ms}};
  const std::string body = machines.dump();
  return fmt::format("{}{}{}{}}}\n", kStart, checksum(body), kMiddle, body);
}

// Writes all of `text` to a new file and makes it durable; false with errno set if that fails.
bool write_new(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n > 0) text.remove_prefix(size_t(n));
    good = n > 0 || (n < 0 && errno == EINTR);
  }
  good = good && ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  errno = error;
  return good;
}

// The folder that the file is in.
std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

// While it exists no other process changes files in the folder. If the folder cannot be locked, there is no lock.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

// The reason why the file cannot be written; empty if it can. Creates the folders above it.
std::string why_not_writable(const std::string& file) {
  std::error_code error;
  const std::string folder = folder_of(file);
  std::filesystem::create_directories(folder, error);
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

// Replaces the old file by a new one. Returns the reason if it fails, else "".
std::string replace(const std::string& file, std::string_view text) {
  const u64 stamp = u64(std::chrono::steady_clock::now().time_since_epoch().count());
  const std::string next = fmt::format("{}.new-{:016x}", file, mix_all(stamp, ::getpid()));
  if (write_new(next, text) && ::rename(next.c_str(), file.c_str()) == 0) return "";
  const std::string reason = std::strerror(errno);
  ::unlink(next.c_str());
  return reason;
}

}  // namespace

GemmChoices::GemmChoices(std::string file, std::string machine) : file_(std::move(file)), machine_(std::move(machine)) {
  if (file_.empty()) return;
  Content content = read(file_);
  if (content.kind == Content::kDamaged)
    log::warn("the file of product algorithms {} is damaged: measuring them again", file_);
  if (content.kind == Content::kForeign) {
    log::warn("{} is not a file of product algorithms, or can't be read: it stays as it is, and choices are not kept",
              file_);
    file_.clear();
  }
  choices_ = std::move(content.machines[machine_]);
  if (const std::string reason = file_.empty() ? "" : why_not_writable(file_); !reason.empty()) {
    log::warn(
        "can't keep product algorithms in {}: {}; new ones are not measured, so products can be slower by some "
        "percent: name another file by --gemm-cache-file",
        file_, reason);
    file_.clear();
  }
}

const GemmChoice* GemmChoices::find(const std::string& problem) const {
  const auto it = choices_.find(problem);
  return it == choices_.end() ? nullptr : &it->second;
}

void GemmChoices::add(const std::string& problem, GemmChoice choice) {
  const GemmChoice before = std::exchange(choices_[problem], std::move(choice));
  if (!file_.empty()) write(problem, before);
}

std::string GemmChoices::text() const { return text_of({{machine_, choices_}}); }

void GemmChoices::take(const std::string& text) {
  Content content = content_of(text);
  check(content.kind == Content::kOurs, "another rank's product algorithms are damaged");
  choices_ = std::move(content.machines[machine_]);
  file_.clear();
}

// `before`: an earlier choice for the problem, which no longer runs; empty if there was none.
void GemmChoices::write(const std::string& problem, const GemmChoice& before) {
  const FolderLock lock(folder_of(file_));
  Content content = read(file_);
  std::string reason = "something else was put there";
  if (content.kind != Content::kForeign) {
    Choices& there = content.machines[machine_];
    GemmChoice& here = choices_[problem];
    const auto others = there.find(problem);
    if (others == there.end() || others->second == before)
      there[problem] = here;
    else
      here = others->second;
    there.insert(choices_.begin(), choices_.end());  // entries that a damaged file has lost
    reason = replace(file_, text_of(content.machines));
  }
  if (!reason.empty() && !std::exchange(warned_, true))
    log::warn("can't keep the chosen product algorithms in {}: {}; they are measured again at the next start", file_,
              reason);
}

}  // namespace megalith::cuda
