#include "cli/mistaken_places.h"

#include <filesystem>

#include "data/data_paths.h"

namespace megalith {

void find_mistaken_places(Options& o) {
  const TrainConfig& t = o.train;
  std::vector<std::string>& mistakes = o.wrong.mistakes;
  std::error_code ignored;
  for (const auto& [flag, dir] : {std::pair("--save", t.save), {"--tensorboard-dir", t.tensorboard_dir}})
    if (std::filesystem::is_regular_file(dir, ignored))
      mistakes.push_back(fmt::format("{} {}: this is a file, want a directory", flag, dir));
  if (o.data.ways_to_name_data() != 1) return;  // a rule refuses this
  for (std::string& mistake : mistaken_data(o.data)) mistakes.push_back(std::move(mistake));
}

}  // namespace megalith
