#include "resume/no_weights.h"

#include <filesystem>

#include "base/canonical_path.h"
#include "base/check.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/not_loadable.h"
#include "ckpt/tensors/files.h"

namespace megalith {

void check_no_weights(const std::string& dir) {
  for (const std::string& name : list_directory(dir)) {
    check(!name.ends_with(".safetensors"),
          "--load {}: there are weights ({}), but no config.json to describe their model", dir, name);
    check(name != "common.pt" && name != "metadata.json" && !name.starts_with("pytorch_model"),
          "--load {}: there is {}, but no checkpoint that is read: some of its files are missing, or another program "
          "wrote it",
          dir, name);
  }
  const std::string of_others = weights_of_others(dir);
  check(of_others.empty(), "--load {}", of_others);
  check(!parse_iteration_name(std::filesystem::path(canonical_path(dir)).filename().string()),
        "--load {}: this is the name of a checkpoint, but it contains none", dir);
}

}  // namespace megalith
