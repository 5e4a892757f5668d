// megalith inspect PATH [--tensor NAME], megalith inspect FILE.idx [--tokenizer-type ...], megalith inspect --diff A B
#include "ckpt/inspect.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/escape.h"
#include "base/hub_cache.h"
#include "ckpt/hf/hf_config.h"
#include "ckpt/not_loadable.h"
#include "cli/command.h"
#include "cli/inspect_index.h"
#include "cli/own_flags.h"
#include "complete/hub_names.h"
#include "settings/options.h"

namespace megalith {

namespace {

namespace fs = std::filesystem;

struct InspectFlags {
  std::string load, from, tensor;
  std::vector<std::string> diff;
  i64 ckpt_step = 0, document = 0;
  bool all = false;
  TokenizerConfig tokenizer;
};

void list_fields(InspectFlags& c, config::FieldList& f) {
  f.group("Inspection");
  f.add("load", c.load, "A checkpoint, a Hugging Face model or a dataset; the flag's name is optional.")
      .shown_as("PATH")
      .also_bare();
  f.add("tensor", c.tensor, "Print numbers about this tensor, and its first values.").shown_as("NAME");
  f.add("diff", c.diff, "Compare the tensors of two checkpoints, of any formats.").shown_as("A B");
  f.add("all", c.all, "With --diff: list equal tensors too.");
  f.add("from", c.from, "Format: native, torch_dist, torch or hf; default: found by the files.").shown_as("FORMAT");
  f.add("ckpt-step", c.ckpt_step, "Iteration of the checkpoint; 0: the latest.");
  f.add("document", c.document, "Of an .idx file: the document to show, as text if --tokenizer-type is given.");
  list_fields(c.tokenizer, f);
  f.add("vocab-size", c.tokenizer.vocab_size, "Tokens of NullTokenizer, and of TikTokenizer with Megatron's file.");
}

AnyOpenOptions open_options(const InspectFlags& c) {
  AnyOpenOptions o{.or_older = false};
  if (!c.from.empty()) o.format = parse_ckpt_format(c.from, "--from");
  if (c.ckpt_step > 0) o.iteration = c.ckpt_step;
  return o;
}

std::string size_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

// The run that it comes from, if the model is known.
void print_run(const RawCheckpoint& raw, const AnyOpenOptions& options) {
  AnyOpenOptions again = options;
  again.verify = again.whole = false;
  again.iteration.reset();
  again.format = raw.format;
  try {
    const AnyCheckpoint c = open_any_checkpoint(raw.path, again);
    log::say("iteration   {}\nsamples     {}\noptimizer   {}", c.manifest.iteration, c.manifest.consumed_samples,
             c.has_optimizer() ? "its moments are here" : "none");
    if (c.foreign()) return log::say("model       of an architecture that is not built yet");
    std::string model;
    for (const auto& [name, value] : describe(*c.model)) model += (model.empty() ? "" : ", ") + name + " " + value;
    log::say("model       {}", model);
  } catch (const Error& e) {
    log::say("model       unknown: {}", escape_controls(e.what()));
  }
}

void print_tensors(const RawCheckpoint& raw) {
  const auto& list = raw.tensors->tensors();
  constexpr std::size_t kWidest = 120;
  std::size_t name = 6, shape = 5;
  for (const TensorSpec& t : list) {
    name = std::min(kWidest, std::max(name, escape_controls(t.name).size()));
    shape = std::max(shape, to_string(t.shape).size());
  }
  log::say("\n{:<{}}  {:<4}  {:<{}}  {:>12}  parts", "tensor", name, "type", "shape", shape, "bytes");
  for (std::size_t i = 0; i < list.size(); ++i)
    log::say("{:<{}}  {:<4}  {:<{}}  {:>12}  {}{}", escape_controls(list[i].name), name, name_of(list[i].dtype),
             to_string(list[i].shape), shape, raw.held[i] * size_of(list[i].dtype), raw.parts[i],
             raw.held[i] == count(list[i].shape)
                 ? ""
                 : fmt::format(", {} of {} elements", raw.held[i], count(list[i].shape)));
  for (const std::string& note : raw.notes) log::say("{}", note);
  for (const std::string& unread : raw.unread) log::say("of a type that is not read: {}", escape_controls(unread));
}

void print_checkpoint(const InspectFlags& c) {
  const AnyOpenOptions options = open_options(c);
  const RawCheckpoint raw = open_raw_checkpoint(c.load, options);
  i64 elements = 0, partial = 0;
  double bytes = 0;
  for (std::size_t i = 0; i < raw.held.size(); ++i) {
    const TensorSpec& t = raw.tensors->tensors()[i];
    elements += raw.held[i], bytes += double(raw.held[i] * size_of(t.dtype));
    partial += raw.held[i] != count(t.shape);
  }
  log::say("format      {}\npath        {}", name_of(raw.format), raw.path);
  print_run(raw, options);
  log::say("tensors     {} of {} elements, {}\nchecksums   {}", raw.tensors->tensors().size(), elements,
           size_text(bytes), raw.checksums.empty() ? "this format has none" : raw.checksums + ": all right");
  if (partial > 0) log::say("whole       no: it has only blocks of {} tensors, as in a rank's own copy", partial);
  print_tensors(raw);
}

void print_tensor(const InspectFlags& c) {
  RawCheckpoint raw = open_raw_checkpoint(c.load, open_options(c));
  auto tensors = raw.tensors;
  if (!tensors->find(c.tensor)) {  // it may be one of our names
    AnyOpenOptions again{.format = raw.format, .verify = false};
    tensors = open_any_checkpoint(raw.path, again).tensors;
  }
  const std::size_t i = tensors->at(c.tensor);
  check(tensors != raw.tensors || raw.held[i] == count(tensors->tensors()[i].shape),
        "{} holds {} of {} elements of {}: its numbers are not shown", raw.path, raw.held[i],
        count(tensors->tensors()[i].shape), c.tensor);
  const TensorSpec& t = tensors->tensors()[i];
  log::say("{}\ntype        {}\nshape       {}", escape_controls(t.name), name_of(t.dtype), to_string(t.shape));
  check(is_float(t.dtype), "tensor {} is {}: its values are not shown", t.name, name_of(t.dtype));
  const TensorStats s = stats_of(*tensors, i);
  log::say("elements    {}, {} of them 0, {} NaN, {} infinite", s.elements, s.zero, s.nan, s.infinite);
  const int digits = t.dtype == DType::f64 ? 17 : 9;  // distinguish any two values
  const auto text = [&](double v) { return fmt::format("{:.{}g}", v, digits); };
  log::say("min, max    {}, {}\nmean        {}\ndeviation   {}\nnorm        {}", text(s.min), text(s.max), text(s.mean),
           text(s.deviation), text(s.norm));
  std::vector<double> first(std::size_t(std::min<i64>(s.elements, 8)));
  tensors->read_range_as(i, 0, i64(first.size()), DType::f64, std::as_writable_bytes(std::span(first)).data());
  std::string values;
  for (const double v : first) values += fmt::format(" {}", text(v));
  log::say("first      {}", values);
}

// Tensors of both, under our names. If a model is unknown, under the files' names.
struct Pair {
  std::shared_ptr<const TensorReader> a, b;
  std::set<std::string> unread{};  // tensors of either that cannot be compared
};
Pair open_pair(const InspectFlags& c) {
  const AnyOpenOptions options = open_options(c);
  try {
    return {open_any_checkpoint(c.diff[0], options).tensors, open_any_checkpoint(c.diff[1], options).tensors};
  } catch (const Error& e) {
    const RawCheckpoint a = open_raw_checkpoint(c.diff[0], options), b = open_raw_checkpoint(c.diff[1], options);
    log::warn("tensors are compared under the files' own names, because a model is unknown: {}",
              escape_controls(e.what()));
    Pair pair{a.tensors, b.tensors};
    for (const RawCheckpoint* raw : {&a, &b}) pair.unread.insert(raw->unread.begin(), raw->unread.end());
    return pair;
  }
}

// Whether difference() accepts both.
bool is_comparable(const TensorSpec& a, const TensorSpec& b) {
  return a.shape == b.shape && (a.dtype == b.dtype || (is_float(a.dtype) && is_float(b.dtype)));
}

std::string gap_text(const TensorSpec& t, double gap) { return is_float(t.dtype) ? fmt::format("{:.4g}", gap) : "-"; }

// 0: all equal; 1: something differs or cannot be compared.
int print_difference(const InspectFlags& c) {
  check(c.diff.size() == 2, "--diff wants two checkpoints, not {}", c.diff.size());
  const auto [a, b, unread] = open_pair(c);
  std::size_t name = 6;
  for (const TensorSpec& t : a->tensors()) name = std::max(name, escape_controls(t.name).size());
  i64 equal = 0, different = 0, of_two_types = 0;
  log::say("{:<{}}  {:>12}  {:>12}  {:>12}", "tensor", name, "max |a-b|", "relative", "elements");
  for (std::size_t i = 0; i < a->tensors().size(); ++i) {
    const TensorSpec& t = a->tensors()[i];
    const auto k = b->find(t.name);
    if (!k || !is_comparable(t, b->tensors()[*k])) {
      log::say("{:<{}}  {}", escape_controls(t.name), name,
               !k ? "only in the first"
                  : fmt::format("{} {} and {} {}", name_of(t.dtype), to_string(t.shape),
                                name_of(b->tensors()[*k].dtype), to_string(b->tensors()[*k].shape)));
      ++different;
      continue;
    }
    of_two_types += t.dtype != b->tensors()[*k].dtype;
    const TensorDifference d = difference(*a, i, *b, *k);
    d.differing == 0 ? ++equal : ++different;
    if (d.differing > 0 || c.all)
      log::say("{:<{}}  {:>12}  {:>12}  {:>12}", escape_controls(t.name), name, gap_text(t, d.max_abs),
               gap_text(t, d.max_rel), d.differing);
  }
  for (const TensorSpec& t : b->tensors())
    if (!a->find(t.name)) log::say("{:<{}}  only in the second", escape_controls(t.name), name), ++different;
  for (const std::string& t : unread)
    log::say("{}: not compared, it is of a type that is not read", escape_controls(t));
  log::say("{} tensors equal, {} different{}; compared bit by bit{}", equal, different,
           unread.empty() ? "" : fmt::format(", {} not compared", unread.size()),
           of_two_types == 0 ? "" : fmt::format(", {} of two types by their values", of_two_types));
  return different == 0 && unread.empty() ? 0 : 1;
}

// A dataset's .idx file for its prefix or its .bin file.
std::string or_index(const std::string& path) {
  for (const std::string& prefix : {path, path.ends_with(".bin") ? path.substr(0, path.size() - 4) : path})
    if (fs::exists(prefix + ".idx")) return prefix + ".idx";
  return path;
}

}  // namespace

int command_inspect(int argc, const char* const* argv) {
  InspectFlags c;
  const auto check_flags = [&](FlagChecks& checks) {
    check_step(checks, c.ckpt_step);
    checks.hold(c.diff.empty() || (c.load.empty() && c.tensor.empty()),
                "--diff compares two checkpoints and nothing else: leave out {}",
                c.load.empty() ? "--tensor " + c.tensor : c.load);
    checks.hold(!c.all || !c.diff.empty(), "--all has no effect without --diff");
    checks.hold(!c.diff.empty() || !c.load.empty() || checks.any(), "nothing to look at: give a PATH, or --diff A B");
  };
  if (!read_flags(c, argc, argv, {}, check_flags)) return 0;
  for (std::string& path : c.diff) path = find_on_hub(path, "--diff");
  if (!c.diff.empty()) return print_difference(c);
  c.load = or_index(c.load);
  c.load = find_on_hub(c.load, "--load");
  const bool is_index = c.load.ends_with(".idx");
  check(!is_index || fs::exists(c.load), "{} is not there: give the prefix that the dataset's .bin and .idx have",
        c.load);
  check(fs::exists(c.load), "{}", is_hub_name(c.load) ? why_not_loadable(c.load) : c.load + " is not there");
  check(is_index || fs::is_directory(c.load), "{} is a file: give the directory of the checkpoint or model", c.load);
  check(!is_index || (c.tensor.empty() && c.ckpt_step == 0), "{} is a dataset: leave out {}", c.load,
        c.tensor.empty() ? "--ckpt-step" : "--tensor");
  if (is_index) find_tokenizer_on_hub(c.tokenizer);
  if (is_index)
    print_index(c.load, c.tokenizer, c.document);
  else if (!c.tensor.empty())
    print_tensor(c);
  else
    print_checkpoint(c);
  return 0;
}

}  // namespace megalith
