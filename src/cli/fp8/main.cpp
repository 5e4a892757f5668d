// fp8-check DIR: compares our casts, scales, histories, loss scales and products of quantized values with vectors of
// another program. DIR has NAME.safetensors, one for each check below; docs/fp8.md lists their tensors. It prints one
// line a tensor. It exits with 0 only if all are equal, or within their bounds. --device cpu: checks src/quant;
// cpu-ops, cuda: checks the ops of training there.
#include <algorithm>
#include <filesystem>

#include "base/one_line.h"
#include "ckpt/tensors/files.h"
#include "cli/fp8/checks.h"
#include "cli/fp8/ops/checks.h"
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
  f.add("device", c.device,
        "What to check: cpu, the plain functions; cpu-ops or cuda, the ops of training on that device.")
      .shown_as("{cpu,cpu-ops,cuda}");
}

struct NamedCheck {
  std::string_view name;  // of the file
  void (*check)(fp8::VectorFile&, fp8::VectorCheck&);
  void (*by_ops)(const fp8::OpCheck&);
};
constexpr NamedCheck kChecks[] = {{"casts.safetensors", fp8::check_casts, fp8::check_casts_by_ops},
                                  {"scales.safetensors", fp8::check_scales, fp8::check_scales_by_ops},
                                  {"delayed.safetensors", fp8::check_delayed, fp8::check_delayed_by_ops},
                                  {"tensorwise.safetensors", fp8::check_tensorwise, fp8::check_tensorwise_by_ops},
                                  {"blockwise.safetensors", fp8::check_blockwise, fp8::check_blockwise_by_ops},
                                  {"mxfp8.safetensors", fp8::check_mxfp8, fp8::check_mxfp8_by_ops},
                                  {"nvfp4.safetensors", fp8::check_nvfp4, fp8::check_nvfp4_by_ops},
                                  {"loss_scale.safetensors", fp8::check_loss_scale, fp8::check_loss_scale_by_ops}};

std::string known_names() {
  std::string out;
  for (const NamedCheck& c : kChecks) out += (out.empty() ? "" : ", ") + std::string(c.name);
  return out;
}

struct NamedFile {
  fp8::VectorFile file;
  const NamedCheck* by;
};

// Opens all files before any check, so a damaged file is reported first. Hidden files are ignored.
std::vector<NamedFile> open_files(const std::string& dir) {
  check(std::filesystem::is_directory(dir), "{} is no directory: give one with files NAME.safetensors", dir);
  std::vector<std::string> names = list_directory(dir);
  std::ranges::sort(names);
  std::vector<NamedFile> files;
  for (const std::string& name : names) {
    if (name.starts_with('.')) continue;
    const auto* known = std::ranges::find(kChecks, name, &NamedCheck::name);
    check(known != std::end(kChecks), "{}/{}: no check is of this name: known are {}", dir, name, known_names());
    files.push_back({fp8::VectorFile(dir + "/" + name), known});
  }
  check(!files.empty(), "{} has no files: want {}", dir, known_names());
  return files;
}

bool all_hold(const Fp8Flags& flags) {
  int held = 0, failed = 0, lacking = 0;
  std::vector<NamedFile> files = open_files(flags.dir);
  std::optional<fp8::OpRunner> ops;
  if (flags.device != "cpu") ops.emplace(flags.device == "cuda" ? "cuda" : "cpu");
  for (NamedFile& f : files) {
    fp8::VectorCheck of_file(f.file);
    if (ops)
      f.by->by_ops({*ops, f.file, of_file});
    else
      f.by->check(f.file, of_file);
    of_file.tell_unread();
    held += of_file.held(), failed += of_file.failed(), lacking += of_file.lacking();
  }
  const std::string none = lacking > 0 ? fmt::format(", {} that no op gives", lacking) : "";
  fmt::print("{} files, {} tensors held, {} failed{}\n", files.size(), held, failed, none);
  return failed == 0;
}

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  try {
    megalith::Fp8Flags flags;
    if (!megalith::read_flags(flags, argc, argv)) return 0;
    megalith::check(!flags.dir.empty(),
                    "usage: fp8-check DIR [--device cpu|cpu-ops|cuda] (DIR: files NAME.safetensors of vectors)");
    megalith::check(flags.device == "cpu" || flags.device == "cpu-ops" || flags.device == "cuda",
                    "--device {}: fp8-check knows cpu, cpu-ops and cuda: give one of them", flags.device);
    return megalith::all_hold(flags) ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fp8-check: {}\n", megalith::one_line(e));
    return 2;
  }
}
