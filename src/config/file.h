// Configs as text: YAML in (for people), JSON out and in (for checkpoints).
//
// YAML: keys are flags without their dashes, with - or _; a list is a sequence, a switch is true or false. Sections
// (maps) may group keys as the writer likes; their names mean nothing. null leaves the default. JSON: one flat object
// of keys with underscores; every field is written, so that a file is complete.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/parse.h"

namespace megalith::config {

// Mistakes, with file and line, include keys that are no known field. Throws Error if the file is not YAML.
Source read_yaml(const std::string& path, const FlagIndex& index);

std::string to_json(const FieldList& fields);
// Sets the fields that the text names; the others keep their values. A switch that sets a field's value may also be
// named. Returns unknown keys: of other parts, or of another version of this program. Throws Error on a value of a
// wrong type and on text that is not a JSON object. `where`: the file's name in messages.
std::vector<std::string> from_json(FieldList& fields, std::string_view text, std::string_view where);

}  // namespace megalith::config
