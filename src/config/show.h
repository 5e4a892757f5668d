// Field lists for people: --help, the docs page of flags, and the arguments that a run prints at its start.
#pragma once
#include <string>

#include "config/field.h"

namespace megalith::config {

// One entry a spelling, grouped; the values of `fields` are shown as the defaults, so pass the list of a fresh struct.
std::string help_text(const FieldList& fields);

// The same as Markdown: a list a group.
std::string help_markdown(const FieldList& fields);

// All fields sorted, `name ..... value` dotted to 48 columns, between the lines that Megatron prints around them.
std::string arguments_text(const FieldList& fields);

}  // namespace megalith::config
