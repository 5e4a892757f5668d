#include "data/cached_files.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "data/md5.h"
#include "data/output_file.h"
#include "data/python_json.h"

namespace megalith {

namespace fs = std::filesystem;

CachedFiles::CachedFiles(const std::string& folder, const std::string& label, const nlohmann::ordered_json& description,
                         std::vector<std::string> names)
    : text_(python_json(description)),
      stem_((fs::path(folder) / fmt::format("{}-{}-", md5_hex(text_), label)).string()),
      names_(std::move(names)) {}

bool CachedFiles::are_fresh(const std::vector<std::string>& prefixes) const {
  std::error_code error;
  auto newest = fs::file_time_type::min();
  for (const std::string& prefix : prefixes) {
    newest = std::max(newest, fs::last_write_time(prefix + ".idx", error));
    if (error) return false;
  }
  const auto fresh = [&](const std::string& file) {
    std::error_code missing;
    const auto time = fs::last_write_time(file, missing);
    return !missing && time >= newest;
  };
  return fresh(stem_ + "description.txt") &&
         std::ranges::all_of(names_, [&](const std::string& name) { return fresh(path(name)); });
}

void CachedFiles::make_folder() const { fs::create_directories(fs::path(stem_).parent_path()); }

void CachedFiles::save_description() const {
  OutputFile text(stem_ + "description.txt", unique_suffix());
  text.write(text_.data(), text_.size());
  text.close();
  text.publish();
}

}  // namespace megalith
