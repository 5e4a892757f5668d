// docs/training.md must list every metric of the table, with the declared text.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "observe/metric.h"
#include "tests/places.h"

namespace megalith {
namespace {

const char* name_of(OverRanks how) {
  constexpr const char* kNames[] = {"", "sum", "max"};
  return kNames[int(how)];
}

const char* name_of(OverInterval how) {
  constexpr const char* kNames[] = {"last", "mean", "sum", "max", "each", "rate"};
  return kNames[int(how)];
}

std::string shown(std::string_view name) {
  if (name == "{}") return "its own name";
  return name.empty() ? "" : fmt::format("`{}`", name);
}

std::string row_of(const Metric& m) {
  std::string row = "|";
  for (const std::string& cell :
       {fmt::format("`{}`", m.name), std::string(m.unit), std::string(name_of(m.over_ranks)),
        std::string(name_of(m.over_interval)), shown(m.console.name), shown(m.file.name), shown(m.tensorboard.name)})
    row += cell.empty() ? " |" : " " + cell + " |";
  return row;
}

TEST(Metrics, are_in_the_docs) {
  std::ifstream file(std::string(kSourceDir) + "/docs/training.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const Metric& m : all_metrics())
    EXPECT_NE(page.str().find("\n" + row_of(m) + "\n"), std::string::npos) << "docs/training.md lacks\n" << row_of(m);
}

}  // namespace
}  // namespace megalith
