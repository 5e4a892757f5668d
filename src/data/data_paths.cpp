#include "data/data_paths.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/check.h"
#include "base/check_no_pipe.h"
#include "base/parse_json.h"
#include "data/blend.h"
#include "data/not_a_dataset.h"

namespace megalith {
namespace {

std::string read_text(const std::string& path, const char* flag) {
  check_no_pipe(fmt::format("{} {}", flag, path), path);
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  check(file.is_open() && std::filesystem::is_regular_file(path, error), "{} {}: not a file that can be read: check it",
        flag, path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> list_of(const nlohmann::json& value, const std::string& where) {
  if (value.is_null()) return {};
  if (value.is_string()) return words_of(value.get<std::string>());
  std::vector<std::string> items;
  check(value.is_array(), "{} is {}: want a list of texts or one text with blanks", where, value.type_name());
  for (const nlohmann::json& item : value) {
    check(item.is_string() || item.is_number(), "{} holds {}: want texts (weights may be numbers)", where,
          item.type_name());
    items.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return items;
}

void read_per_split(DataConfig& c) {
  constexpr const char* kFlag = "--per-split-data-args-path";
  const std::string& path = c.per_split_data_args_path;
  const auto json = parse_json<nlohmann::json>(read_text(path, kFlag));
  check(json.is_object(), "{} {}: not a JSON object with the keys train, valid and test", kFlag, path);
  for (const auto& [key, value] : json.items()) {
    const std::string where = fmt::format("{} {}: \"{}\"", kFlag, path, key);
    check(key == "train" || key == "valid" || key == "test", "{} is none of train, valid and test", where);
    (key == "train"   ? c.train_data_path
     : key == "valid" ? c.valid_data_path
                      : c.test_data_path) = list_of(value, where);
  }
  check(c.has_own_paths(), "{} {}: it names no datasets", kFlag, path);
  c.per_split_data_args_path.clear();
}

void check_is_there(const std::string& path, bool is_chats) {
  std::error_code error;
  if (!is_chats) check_is_dataset(path);
  check(std::filesystem::exists(is_chats ? path : path + ".idx", error), "{}{}: no such file: check the path", path,
        is_chats ? "" : ".idx");
}

}  // namespace

DataConfig with_paths_from_files(DataConfig config) {
  if (!config.data_args_path.empty()) {
    config.data_path = words_of(read_text(config.data_args_path, "--data-args-path"));
    check(!config.data_path.empty(), "--data-args-path {}: it names no datasets", config.data_args_path);
    config.data_args_path.clear();
  }
  if (!config.per_split_data_args_path.empty()) read_per_split(config);
  return config;
}

std::vector<std::string> mistaken_data(const DataConfig& given) {
  std::vector<std::string> mistakes;
  const auto try_to = [&](auto&& look) {
    try {
      look();
    } catch (const Error& e) {
      mistakes.emplace_back(e.what());
    }
  };
  DataConfig c;
  try_to([&] { c = with_paths_from_files(given); });
  for (const auto* items : {&c.data_path, &c.train_data_path, &c.valid_data_path, &c.test_data_path}) {
    Blend blend;
    if (!items->empty()) try_to([&] { blend = parse_blend(*items, "the list of data"); });
    for (const std::string& prefix : blend.prefixes) try_to([&] { check_is_there(prefix, c.sft); });
  }
  return mistakes;
}

std::string missing_data(const DataConfig& given) {
  std::error_code ignored;
  const auto is_there = [&](const std::string& path) { return std::filesystem::exists(path, ignored); };
  for (const std::string& list : {given.data_args_path, given.per_split_data_args_path})
    if (!list.empty() && !is_there(list)) return list;
  const DataConfig c = with_paths_from_files(given);
  for (const auto* items : {&c.data_path, &c.train_data_path, &c.valid_data_path, &c.test_data_path}) {
    if (items->empty()) continue;
    for (const std::string& prefix : parse_blend(*items, "the list of data").prefixes)
      if (const std::string file = c.sft ? prefix : prefix + ".idx"; !is_there(file)) return file;
  }
  return {};
}

}  // namespace megalith
