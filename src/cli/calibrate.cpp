#include "calibrate/calibrate.h"

#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "cli/command.h"
#include "cli/own_flags.h"
#include "config/parse.h"
#include "device/make_backend.h"
#include "facts/facts_file.h"

namespace megalith {

namespace {

struct CalibrateFlags {
  std::string out, name = "this-machine";
  double seconds = 240;
  DeviceOptions device;
};

void list_fields(CalibrateFlags& c, config::FieldList& f) {
  f.group("Calibration");
  f.add("out", c.out, "File to write, *.yaml: the device's facts. What is there of links and prices stays.")
      .shown_as("FILE");
  f.add("name", c.name, "Of the device, as the file says it.");
  f.add("seconds", c.seconds, "No further model is measured after so many.");
  list_fields(c.device, f);
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::trunc);
  out << text << std::flush;
  check(bool(out), "--out {}: can't be written: name another file", path);
}

}  // namespace

int command_calibrate(int argc, const char* const* argv) {
  CalibrateFlags c;
  if (!read_flags(c, argc, argv)) return 0;
  check(c.out.ends_with(".yaml"), "--out is required: the file to write, *.yaml");
  check(c.seconds > 0, "--seconds {}: want more than 0", c.seconds);
  settle_drivers();
  const std::unique_ptr<Backend> backend = make_backend(c.device);
  std::optional<DeviceFacts> before;
  if (std::filesystem::exists(c.out))
    before = find_facts(c.out);
  else if (names_facts(c.name))
    before = find_facts(c.name);
  const DeviceFacts facts = calibrate(*backend, {.seconds = c.seconds, .name = c.name, .before = before});
  write(c.out, print_facts(facts));
  log::say("wrote {} products, {} attentions, {} other kernels and {} workspaces to {}", facts.products.size(),
           facts.attention.size(), facts.kernels.size(),
           facts.product_workspaces.size() + facts.attention_workspaces.size(), c.out);
  return 0;
}

}  // namespace megalith
