// A config with a field of each kind, for the tests of the field lists.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/field.h"
#include "tests/error_of.h"

namespace megalith::config {

enum class Colour { red, green, blue };

struct Sample {
  i64 num_layers = 12;
  double lr = 1e-3;
  bool bf16 = false;
  bool check_nan = true;
  std::string save;
  std::optional<double> start_decay;
  Colour colour = Colour::green;
  i64 groups = 0;
  i64 window = 0;
  std::vector<i64> skip;
  std::vector<double> weights;
  std::vector<std::string> data_path;
  i32 eod = -1;
  bool operator==(const Sample&) const = default;
};

inline std::string window_of(std::string_view text) {
  check(text.ends_with(",0"), "'{}' is not of the form W,0", text);
  return std::string(text.substr(0, text.size() - 2));
}

inline void list_fields(Sample& c, FieldList& f) {
  f.group("Sizes");
  f.add("num-layers", c.num_layers, "Layers of the sample.").also("--layers");
  f.add("lr", c.lr, "Learning rate.");
  f.add("num-groups", c.groups, "Groups.").also(Spelling{.flag = "--grouped", .constant = "1", .weak = true});
  f.add("window", c.window, "Window.").also(Spelling{.flag = "--window-size", .convert = window_of, .metavar = "W,0"});
  f.group("Other");
  f.add("bf16", c.bf16, "Compute in bf16.");
  f.add_on("check-nan", c.check_nan, "Do not look for NaN.");
  f.add("save", c.save, "Where to save.").shown_as("DIR");
  f.add("start-decay", c.start_decay, "Decay at the start.");
  f.add("colour", c.colour, {"red", "green", "blue"}, "Colour.")
      .means("--crimson", "red")
      .means("--azure", "blue")
      .means("--sky", "blue");
  f.add("skip", c.skip, "Iterations to skip.");
  f.add("weights", c.weights, "Weights.");
  f.add("eod", c.eod, "End of document.");
  f.add("data-path", c.data_path, "Datasets.");
}

// A file that is gone at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / fmt::format("megalith_config_{}.yaml", getpid())).string()) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace megalith::config
