// The JSON header of a safetensors file, both ways, checked.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ckpt/tensors/safetensors.h"

namespace megalith {

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their bytes, offsets from the start of the file
  std::map<std::string, std::string> metadata;
};

// A file's header length and header, as they are. Error if the file has not as much.
std::vector<std::byte> read_safetensors_header(const ReadFile& file);

// Checks the syntax, names, types and sizes of a header from read_safetensors_header. The tensors must fill the file of
// `size` bytes.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> header, i64 size, const std::string& path);

// Header length and header, padded; `tensors` must be in file order.
std::string format_safetensors_header(std::span<const TensorSpec> tensors,
                                      const std::map<std::string, std::string>& metadata);

// Rank in the format's list of types: files hold higher ranks first.
int safetensors_rank(DType dtype);

}  // namespace megalith
