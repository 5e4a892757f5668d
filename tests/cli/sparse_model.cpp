#include "sparse_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "workshop.h"

namespace megalith::test {

i64 write_sparse_model(const std::string& dir, const std::string& config, const std::vector<SparseTensor>& tensors) {
  std::filesystem::create_directories(dir);
  spit(dir + "/config.json", config);
  std::string header = "{";
  i64 end = 0;
  for (const SparseTensor& t : tensors) {
    const i64 begin = end;
    end += t.rows * std::max<i64>(t.columns, 1) * 4;
    header += fmt::format("{}\"{}\": {{\"dtype\": \"F32\", \"shape\": [{}{}], \"data_offsets\": [{}, {}]}}",
                          header.size() > 1 ? ", " : "", t.name, t.rows,
                          t.columns > 0 ? fmt::format(", {}", t.columns) : "", begin, end);
  }
  header += "}";
  const u64 length = header.size();
  spit(dir + "/model.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + header);
  std::filesystem::resize_file(dir + "/model.safetensors", 8 + length + u64(end));  // zeros
  return end;
}

}  // namespace megalith::test
