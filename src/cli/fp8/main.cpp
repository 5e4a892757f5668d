// fp8-check DIR: holds our casts, scales, histories, loss scales and products of quantized values against vectors that
// another program made. DIR has NAME.safetensors, one for each check below; docs/fp8.md tells their tensors. One line a
// tensor; exit 0 only if all are equal, or within their bounds. --device cpu.
#include <algorithm>
#include <filesystem>

#include "base/one_line.h"
#include "ckpt/tensors/files.h"
#include "cli/fp8/checks.h"
#include "cli/own_flags.h"
#include "config/field.h"

namespace megalith {
namespace {

struct Fp8Flags {
  std::string dir, device = "cpu";
};

void list_fields(Fp8Flags& c, config::FieldList& f) {
  f.group("Check of number formats: fp8-check DIR [flags]");
  f.add("dir", c.dir, "The directory of vectors, NAME.safetensors; also without the flag.").shown_as("DIR").also_bare();
  f.add("device", c.device, "Where ours is computed: cpu.").shown_as("{cpu}");
}

using Check = void (*)(fp8::VectorFile&, fp8::VectorCheck&);
struct NamedCheck {
  std::string_view name;  // of the file
  Check check;
};
constexpr NamedCheck kChecks[] = {
    {"casts.safetensors", fp8::check_casts},         {"scales.safetensors", fp8::check_scales},
    {"delayed.safetensors", fp8::check_delayed},     {"tensorwise.safetensors", fp8::check_tensorwise},
    {"blockwise.safetensors", fp8::check_blockwise}, {"mxfp8.safetensors", fp8::check_mxfp8},
    {"nvfp4.safetensors", fp8::check_nvfp4},         {"loss_scale.safetensors", fp8::check_loss_scale}};

std::string known_names() {
  std::string out;
  for (const NamedCheck& c : kChecks) out += (out.empty() ? "" : ", ") + std::string(c.name);
  return out;
}

struct NamedFile {
  fp8::VectorFile file;
  Check check;
};

// All are opened before any is held, so what is damaged is told first. Hidden files are passed over.
std::vector<NamedFile> open_files(const std::string& dir) {
  check(std::filesystem::is_directory(dir), "{} is no directory: give one with files NAME.safetensors", dir);
  std::vector<std::string> names = list_directory(dir);
  std::ranges::sort(names);
  std::vector<NamedFile> files;
  for (const std::string& name : names) {
    if (name.starts_with('.')) continue;
    const auto* known = std::ranges::find(kChecks, name, &NamedCheck::name);
    check(known != std::end(kChecks), "{}/{}: no check is of this name: known are {}", dir, name, known_names());
    files.push_back({fp8::VectorFile(dir + "/" + name), known->check});
  }
  check(!files.empty(), "{} has no files: want {}", dir, known_names());
  return files;
}

bool all_hold(const std::string& dir) {
  int held = 0, failed = 0;
  std::vector<NamedFile> files = open_files(dir);
  for (NamedFile& f : files) {
    fp8::VectorCheck of_file(f.file);
    f.check(f.file, of_file);
    of_file.tell_unread();
    held += of_file.held(), failed += of_file.failed();
  }
  fmt::print("{} files, {} tensors held, {} failed\n", files.size(), held, failed);
  return failed == 0;
}

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  try {
    megalith::Fp8Flags flags;
    if (!megalith::read_flags(flags, argc, argv)) return 0;
    megalith::check(!flags.dir.empty(), "usage: fp8-check DIR [--device cpu] (DIR: files NAME.safetensors of vectors)");
    megalith::check(flags.device == "cpu",
                    "--device {}: fp8-check computes on the CPU only: leave the flag out, or give cpu", flags.device);
    return megalith::all_hold(flags.dir) ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fp8-check: {}\n", megalith::one_line(e));
    return 2;
  }
}
