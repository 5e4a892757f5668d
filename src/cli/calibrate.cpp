// `megalith calibrate`: measures a device's facts and writes their file.
#include "calibrate/calibrate.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/can_write.h"
#include "base/log.h"
#include "cli/calibrated_model.h"
#include "cli/command.h"
#include "cli/share_cores.h"
#include "comm/on_all_ranks.h"
#include "complete/complete_options.h"
#include "config/parse.h"
#include "config/show.h"
#include "device/make_backend.h"
#include "facts/facts_file.h"
#include "settings/megatron_flags.h"

namespace megalith {

namespace {

struct CalibrateFlags {
  std::string out, name = "this-machine";
  double seconds = 240;
  bool keep_kernels = false;
  Options options;  // of the model to measure, and of the device
  bool has_model() const { return options.given.has("num-layers") || !options.train.load.empty(); }
};

void list_fields(CalibrateFlags& c, config::FieldList& f) {
  f.group("Calibration");
  f.add("out", c.out, "File to write, *.yaml: the device's facts. Its links and prices stay.").shown_as("FILE");
  f.add("name", c.name, "The device's name in the file.");
  f.add("seconds", c.seconds, "After this many seconds no further model is measured.");
  f.add("keep-kernels", c.keep_kernels,
        "Kernels of the file, or of the file of --name, stay. One model of two layers tells how much longer steps "
        "take; several ranks measure their transfers.");
  list_fields(c.options, f);
}

// False: --help was given, and is printed.
bool read_calibrate_flags(CalibrateFlags& c, int argc, const char* const* argv) {
  config::FieldList fields = config::fields_of(c);
  Options& o = c.options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  take_parsed(o, config::parse_all(fields, words, megatron_flags()), argv[0]);
  if (o.help) log::say("{}", config::help_text(fields));
  if (o.help) return false;
  if (o.train.train_iters == 0 && o.train.train_samples == 0) o.train.train_iters = 1;
  if (o.optimizer.lr == 0) o.optimizer.lr = 1, o.optimizer.min_lr = 0;
  if (c.has_model()) complete_model(o, read_sources(o));
  refuse_wrong(o);
  return true;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::trunc);
  out << text << std::flush;
  check(bool(out), "--out {}: can't be written: name another file", path);
}

}  // namespace

static std::optional<DeviceFacts> facts_before(const CalibrateFlags& c) {
  if (std::filesystem::exists(c.out)) return find_facts(c.out);
  if (names_facts(c.name)) return find_facts(c.name);
  return std::nullopt;
}

static int calibrate_ranks(const CalibrateFlags& c, Ranks& ranks) {
  std::unique_ptr<Backend> backend;
  std::optional<DeviceFacts> before;
  on_all_ranks(ranks, [&] {
    check(ranks.place().local_size == ranks.size(), "{} ranks on a host, {} in all: calibrate on one host",
          ranks.place().local_size, ranks.size());
    backend = make_backend(c.options.train.device, &ranks);
    before = facts_before(c);
  });
  CalibrateOptions options{.seconds = c.seconds, .name = c.name, .keep_kernels = c.keep_kernels, .before = before};
  const i64 tensor = std::max<i64>(ranks.size(), c.options.parallel.tensor_model_parallel_size);
  if (c.has_model()) options.model = steps_of_model(c.options, tensor);
  const DeviceFacts facts = calibrate(*backend, ranks, options);
  on_all_ranks(ranks, [&] {
    if (ranks.rank() == 0) write(c.out, print_facts(facts));
  });
  log::say("wrote {} products, {} attentions, {} other kernels, {} transfers and {} workspaces to {}",
           facts.products.size(), facts.attention.size(), facts.kernels.size(), facts.transfers.size(),
           facts.product_workspaces.size() + facts.attention_workspaces.size(), c.out);
  return 0;
}

int command_calibrate(int argc, const char* const* argv) {
  const Place place = find_place([](const char* name) -> const char* { return std::getenv(name); });
  if (place.rank > 0) log::mute();
  CalibrateFlags c;
  if (!read_calibrate_flags(c, argc, argv)) return 0;
  check(c.out.ends_with(".yaml"), "--out is required: the file to write, *.yaml");
  check(place.rank > 0 || can_write(c.out), "--out {}: can't be written: name another file", c.out);
  check(c.seconds > 0, "--seconds {}: want more than 0", c.seconds);
  settle_drivers();
  const std::unique_ptr<Ranks> ranks = join(place);
  share_cores(ranks->place());
  return tell_errors(*ranks, [&] { return calibrate_ranks(c, *ranks); });
}

}  // namespace megalith
