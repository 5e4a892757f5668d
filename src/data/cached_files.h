// The files of one cached index: FOLDER/MD5-CLASS-[SPLIT-]NAME, with Megatron's names.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace megalith {

class CachedFiles {
 public:
  // `label`: class and split, "GPTDataset-train"; `names`: of the arrays, such as "document_index".
  CachedFiles(const std::string& folder, const std::string& label, const nlohmann::ordered_json& description,
              std::vector<std::string> names);

  std::string path(const std::string& name) const { return stem_ + name + ".npy"; }
  // Whether every file exists and is not older than the .idx file of any prefix.
  bool are_fresh(const std::vector<std::string>& prefixes) const;
  void make_folder() const;
  void save_description() const;  // call after the arrays are written: it marks them as complete

 private:
  std::string text_, stem_;
  std::vector<std::string> names_;
};

}  // namespace megalith
