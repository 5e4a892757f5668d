// Reads a W&B file for tests: the records, and the names and values of rows.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct ProtoField {
  int number;
  u64 value;          // value of a varint
  std::string bytes;  // content of a length-delimited field
};
std::vector<ProtoField> proto_fields(const std::string& message);

// The complete records; stops at a wrong checksum.
std::vector<std::string> read_wandb(const std::string& file);

// The bytes of a record's only field of this number; "" if it has none.
std::string record_part(const std::string& record, int number);

// Names and values of a row (2), a summary (3), or a run's config.
std::map<std::string, std::string> wandb_items(const std::string& part, int name_field = 2);

}  // namespace megalith
