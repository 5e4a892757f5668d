// The files of one cached index: FOLDER/MD5-CLASS-[SPLIT-]NAME, with Megatron's names.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace megalith {

class CachedFiles {
 public:
  // `label`: class and split, "GPTDataset-train"; `names`: of the arrays, "document_index" and so on.
  CachedFiles(const std::string& folder, const std::string& label, const nlohmann::ordered_json& description,
              std::vector<std::string> names);

  std::string path(const std::string& name) const { return stem_ + name + ".npy"; }
  // Whether every file is there and none is older than the .idx of one of the prefixes.
  bool are_fresh(const std::vector<std::string>& prefixes) const;
  void make_folder() const;
  void save_description() const;  // after the arrays: it says that they are all there

 private:
  std::string text_, stem_;
  std::vector<std::string> names_;
};

}  // namespace megalith
