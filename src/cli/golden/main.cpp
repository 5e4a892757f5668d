// golden-check DIR: compares our model with results of another program. DIR has config.json, model.safetensors and
// golden.safetensors, in the form of Hugging Face transformers (hf_form.h) or of Megatron Core (megatron_form.h). It
// prints one line a quantity with its error. It exits with 0 only if all are within their bounds. --device cpu|cuda;
// --bf16 and --fp16 compute in these types, with wider bounds.
#include "base/one_line.h"
#include "ckpt/tensors/safetensors.h"
#include "cli/golden/encoder_form.h"
#include "cli/golden/hf_form.h"
#include "cli/golden/megatron_form.h"
#include "cli/own_flags.h"
#include "config/field.h"
#include "device/make_backend.h"

namespace megalith {
namespace {

struct Flags {
  bool bf16 = false, fp16 = false;
  DeviceOptions device;
};

void list_fields(Flags& c, config::FieldList& f) {
  f.group("Golden check: golden-check DIR [flags]");
  f.add("bf16", c.bf16, "Compute in bf16.");
  f.add("fp16", c.fp16, "Compute in fp16, on the CPU, without a loss scale.");
  list_fields(c.device, f);
}

bool holds(const std::string& dir, const Flags& flags) {
  const bool is_megatron = is_megatron_case(dir);
  check(!flags.bf16 || !flags.fp16, "--fp16 and --bf16 contradict each other: give one");
  const DType compute = flags.bf16 ? DType::bf16 : flags.fp16 ? DType::f16 : DType::f32;
  check(!is_megatron || compute == DType::f32,
        "--{}: {} has Megatron's form, which is checked in f32 only: leave the flag out", flags.bf16 ? "bf16" : "fp16",
        dir);
  TensorFiles::open_file(dir +
                         "/golden.safetensors");  // first, so that a missing file is an error before the device opens
  const std::unique_ptr<Backend> backend = make_backend(flags.device);
  if (!is_megatron) return holds_hf(dir, compute, *backend);
  return is_encoder_case(dir) ? holds_encoder(dir, *backend) : holds_megatron(dir, *backend);
}

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) {
  try {
    megalith::check(argc >= 2 && argv[1][0] != '-',
                    "usage: golden-check DIR [--bf16|--fp16] [--device cpu|cuda] (DIR: config.json, model.safetensors, "
                    "golden.safetensors)");
    megalith::Flags flags;
    if (!megalith::read_flags(flags, argc - 1, argv + 1)) return 0;
    return megalith::holds(argv[1], flags) ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "golden-check: {}\n", megalith::one_line(e));
    return 2;
  }
}
