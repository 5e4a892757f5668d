// The JSON header of a safetensors file, both ways, checked.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ckpt/safetensors.h"

namespace megalith {

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their bytes, offsets from the start of the file
  std::map<std::string, std::string> metadata;
};

// Checks the header length, syntax, names, types and sizes, and that the tensors tile the file to its end.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& path);

// xxh64 of a file's header length and header, as they are; of no more than the file has.
u64 safetensors_header_checksum(const std::string& path);

// Header length and header, padded; `tensors` must be in file order.
std::string format_safetensors_header(std::span<const TensorSpec> tensors,
                                      const std::map<std::string, std::string>& metadata);

// Rank in the format's list of types: files hold higher ranks first.
int safetensors_rank(DType dtype);

}  // namespace megalith
