// Files on disk, with every durable step named. Saving a checkpoint is a sequence of steps (create, write, fsync,
// rename, ...); a hook sees each one before it happens. So a test can stop the sequence anywhere, like a crash. It can
// also let a step fail, like a full disk. All functions throw Error with the path and the system's reason.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

struct XXH64_state_s;

namespace megalith {

struct FileStep {
  std::string_view kind;  // mkdir create allocate write truncate fsync rename exchange remove fsync-dir
  std::string path;
  std::string target;  // of rename and exchange
};
using StepHook = std::function<void(const FileStep&)>;

// Calls the hook, if there is one, for each step; and throws the error of a failed step, by errno.
void tell_step(const StepHook& hook, std::string_view kind, const std::string& path, const std::string& target = {});
[[noreturn]] void fail_errno(std::string_view what, const std::string& path);

// xxh64 of data that is added incrementally.
class Xxh64 {
 public:
  Xxh64();
  void add(std::span<const std::byte> bytes);
  u64 value() const;

 private:
  std::unique_ptr<XXH64_state_s, void (*)(XXH64_state_s*)> state_;
};

u64 xxh64(std::span<const std::byte> bytes);
u64 xxh64(std::string_view text);
// Of a file's bytes. These two throw what ReadFile throws.
u64 xxh64_of_file(const std::string& path);
std::string read_text(const std::string& path);
// The names in a directory; none if it does not exist. UnreachableFile or DamagedFile if it can't be read.
std::vector<std::string> list_directory(const std::string& path);
// Whether it is a directory with a name that `is_meant` accepts. Errors as above.
bool directory_has(const std::string& path, const std::function<bool(const std::string&)>& is_meant);

void write_text(const std::string& path, std::string_view text, const StepHook& hook);  // new file, fsynced
// Its name is durable once its parent is synced; make_directories does that, and makes missing parents.
void make_directory(const std::string& path, const StepHook& hook);
// Makes one only in the directory that `is_meant` accepts. If that directory is moved, or another is mounted there, the
// call makes nothing in the other one. `is_meant` throws to refuse.
void make_directory_in(const std::string& parent, const std::string& name, const std::function<void()>& is_meant,
                       const StepHook& hook);
void make_directories(const std::string& path, const StepHook& hook);
void rename_path(const std::string& from, const std::string& to, const StepHook& hook);  // replaces a file `to`
// Swaps two directories in one step; false where the file system can't.
bool exchange_paths(const std::string& a, const std::string& b, const StepHook& hook);
void sync_directory(const std::string& path, const StepHook& hook);
void remove_tree(const std::string& path, const StepHook& hook);  // file or directory; absent is fine

// Written to a temporary file, fsynced, renamed to `path`, directory fsynced: readers see the old text or the new one.
// `by`: the directory of the temporary file, on the same file system. If empty, it is the directory of `path`.
void replace_text(const std::string& path, std::string_view text, const StepHook& hook, const std::string& by = "");

}  // namespace megalith
