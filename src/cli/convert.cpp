// `megalith convert`: converts a checkpoint to another format.
#include "ckpt/convert.h"

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/canonical_path.h"
#include "cli/command.h"
#include "cli/export_tokenizer.h"
#include "cli/foreign/conversion.h"
#include "cli/own_flags.h"
#include "complete/hub_names.h"

namespace megalith {

namespace {

struct ConvertFlags {
  std::string load, save, from, to, dtype, family, tokenizer_dir, max_shard_size;
  i64 ckpt_step = 0, vocab_size = 0;
  bool no_load_optim = false;
};

// Conversion allocates buffers of some MiB again and again. If they returned to the system each time, clearing their
// pages would cost more than the conversion.
void keep_buffers() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

void list_fields(ConvertFlags& c, config::FieldList& f) {
  f.group("Conversion");
  f.add("load", c.load, "Checkpoint directory or Hugging Face model directory.").shown_as("DIR");
  f.add("save", c.save, "Directory to write.").shown_as("DIR");
  f.add("from", c.from, "Format of --load: native, torch_dist, torch or hf; default: found by the files.")
      .shown_as("FORMAT");
  f.add("to", c.to, "native: our own; torch_dist: Megatron-LM's; hf: a Hugging Face model directory.")
      .shown_as("FORMAT");
  f.add("dtype", c.dtype, "Of the weights: f32, bf16 or f16; default: as they are stored.");
  f.add("family", c.family,
        "Hugging Face model type (llama, gpt2, ...); default: the family that the model came from, else the first that "
        "can express it.");
  f.add("max-shard-size", c.max_shard_size, "Largest file of a Hugging Face directory, as 500MB; default: 5GB.");
  f.add("tokenizer-dir", c.tokenizer_dir, "Directory of the tokenizer's files to copy; default: --load.")
      .shown_as("DIR");
  f.add("vocab-size", c.vocab_size, "Number of tokens, for a Megatron checkpoint that has only the padded number.");
  f.add("ckpt-step", c.ckpt_step, "Iteration of the checkpoint; 0: the latest.");
  f.add("no-load-optim", c.no_load_optim, "Do not write the optimizer state.");
}

// Our names, or PyTorch's.
DType parse_dtype(const std::string& s) {
  for (const auto& [type, other] :
       {std::pair{DType::f32, "float32"}, std::pair{DType::bf16, "bfloat16"}, std::pair{DType::f16, "float16"}})
    if (s == name_of(type) || s == other) return type;
  fail("--dtype {}: want f32, bf16 or f16", s);
}

i64 parse_size(const std::string& text) {
  struct Unit {
    std::string_view name;
    i64 bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},          {"KB", 1'000},    {"MB", 1'000'000}, {"GB", 1'000'000'000},
                             {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, std::size_t(text.data() + text.size() - end));
  for (const Unit& u : kUnits)
    if (error == std::errc() && u.name == unit && value > 0 && value < (i64{1} << 62) / u.bytes) return value * u.bytes;
  fail("--max-shard-size '{}': want a size from 1, as 5GB, 500MB or 2GiB", text);
}

// Translates the words of another program's conversion, and prints ours.
std::vector<std::string> own_words(std::vector<std::string> words) {
  if (std::ranges::find(words, "--help") != words.end()) return words;
  const std::optional<Translation> t = translate_conversion(words);
  if (!t) return words;
  if (!t->wrong.empty()) answer(*t);
  for (const std::string& note : t->notes) log::info("{}", note);
  log::info("this is {}, the same as: {}", t->whose, command_line("convert", t->words));
  return t->words;
}

// What the flags ask for.
struct Conversion {
  CkptFormat to = CkptFormat::native;
  AnyOpenOptions open{};
  ConvertOptions options{};
};

CkptFormat format_to_write(const std::string& to) {
  if (to == "megatron" || to == "mcore") return CkptFormat::torch_dist;
  return to == "huggingface" ? CkptFormat::hf : parse_ckpt_format(to, "--to", true);
}

void settle(ConvertFlags& c, Conversion& out, FlagChecks& checks) {
  checks.given(
      {{"--load", !c.load.empty()}, {"--save", !c.save.empty()}, {"--to (native, torch_dist or hf)", !c.to.empty()}});
  checks.run([&] { c.load = find_on_hub(c.load, "--load"); });
  check_step(checks, c.ckpt_step);
  checks.hold(c.vocab_size >= 0, "--vocab-size {}: give the number of tokens, or 0 for the checkpoint's own",
              c.vocab_size);
  const std::string& tokenizer = c.tokenizer_dir;
  const bool is_there = tokenizer.empty() || std::filesystem::is_directory(tokenizer);
  checks.hold(is_there, "--tokenizer-dir {}: no such directory", tokenizer);
  checks.hold(!is_there || tokenizer.empty() || has_tokenizer_files(tokenizer),
              "--tokenizer-dir {} holds none of tokenizer.json, tokenizer.model, vocab.json and their like: give "
              "another, or leave it out",
              tokenizer);
  checks.run([&] {
    if (!c.from.empty()) out.open.format = parse_ckpt_format(c.from, "--from");
  });
  checks.run([&] {
    if (!c.dtype.empty()) out.options.type = parse_dtype(c.dtype);
  });
  checks.run([&] {
    if (!c.max_shard_size.empty()) out.options.max_shard_bytes = parse_size(c.max_shard_size);
  });
  checks.run([&] {
    if (c.to.empty()) return;
    out.to = format_to_write(c.to);
    const bool is_hf = out.to == CkptFormat::hf;
    checks.hold(is_hf || c.family.empty(), "--family {} has no effect without --to hf", c.family);
    checks.hold(is_hf || c.max_shard_size.empty(), "--max-shard-size {} has no effect without --to hf",
                c.max_shard_size);
  });
}

}  // namespace

int command_convert(int argc, const char* const* argv) {
  ConvertFlags c;
  Conversion r;
  const auto check_flags = [&](FlagChecks& checks) { settle(c, r, checks); };
  if (!read_flags(c, own_words({argv + 1, argv + argc}), {}, check_flags)) return 0;
  keep_buffers();
  const CkptFormat to = r.to;
  AnyOpenOptions& open = r.open;
  ConvertOptions& options = r.options;
  if (c.ckpt_step > 0) open.iteration = c.ckpt_step;
  open.vocab_size = c.vocab_size;
  options.family = c.family;
  options.with_optimizer = !c.no_load_optim;
  if (!c.tokenizer_dir.empty()) options.asset_dirs.push_back(c.tokenizer_dir);
  options.asset_dirs.push_back(c.load);
  open.or_older = false;
  const AnyCheckpoint from = open_any_checkpoint(c.load, open);
  check(c.vocab_size == 0 || !from.model || from.model->vocab_size == c.vocab_size,
        "--vocab-size {}: the checkpoint {} has its vocabulary, {}; leave the flag out", c.vocab_size, from.path,
        from.model ? from.model->vocab_size : 0);
  check((to != CkptFormat::hf && from.format != CkptFormat::hf) || canonical_path(c.save) != canonical_path(c.load),
        "--save {} is --load: one directory cannot hold two formats: choose another", c.save);
  options.asset_dirs.push_back(from.path);
  if (to == CkptFormat::hf) describe_tokenizer(from, !c.tokenizer_dir.empty(), options);
  const i64 tensors = convert_checkpoint(from, to, c.save, options);
  log::say("wrote {} tensors to {}", tensors, c.save);
  return 0;
}

}  // namespace megalith
