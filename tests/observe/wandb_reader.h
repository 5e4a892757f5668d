// Reads a W&B file for tests: the records, and names and values of rows.
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

// The complete records. Stops at a wrong checksum.
std::vector<std::string> read_wandb(const std::string& file);

// The bytes of the record's field with this number, which occurs once. Empty if there is none.
std::string record_part(const std::string& record, int number);

// Names and values of a row (2), a summary (3), or the config of a run.
std::map<std::string, std::string> wandb_items(const std::string& part, int name_field = 2);

}  // namespace megalith
