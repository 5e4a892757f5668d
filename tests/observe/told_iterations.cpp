#include "told_iterations.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "wandb_reader.h"

namespace megalith {

std::vector<i64> in_metrics_file(const std::string& path) {
  std::vector<i64> iterations;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) iterations.push_back(nlohmann::json::parse(line)["iteration"]);
  return iterations;
}

std::vector<i64> in_wandb(const std::string& file) {
  std::vector<i64> iterations;
  for (const std::string& record : read_wandb(file))
    if (const std::string row = record_part(record, 2); !row.empty())
      iterations.push_back(i64(proto_fields(record_part(row, 2)).at(0).value));
  return iterations;
}

std::vector<i64> in_tensorboard(const std::string& file) {
  std::vector<i64> steps;
  size_t at = 0;
  while (at + 16 <= file.size()) {
    u64 length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    if (at + 16 + length > file.size()) return {};
    const std::string event = file.substr(at + 12, length);
    at += 16 + length;
    const std::string value = record_part(record_part(event, 5), 1);
    if (value.empty() || record_part(value, 1) != "lm loss") continue;
    for (const ProtoField& f : proto_fields(event))
      if (f.number == 2) steps.push_back(i64(f.value));
  }
  return at == file.size() ? steps : std::vector<i64>{};
}

}  // namespace megalith
