// One list of fields per config struct. It serves the command line (parse.h), and YAML and JSON (file.h). It also
// serves help, the docs page and the printed arguments (show.h), and the comparison of two configs.
//
// A struct's list is one function, `void list_fields(Struct&, config::FieldList&)`, in the struct's .cpp file.
// It binds names to the members of one object. So a list must not outlive that object. A field has one name (Megatron's
// main flag without its dashes) and any number of spellings; a switch is a spelling that stands for a constant value:
// `--swiglu` is `--activation swiglu`, `--no-x` is `--x=false`.
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace megalith::config {

// An enum member: its values are numbered 0, 1, ... in the order of their names.
struct EnumRef {
  void* member;
  i64 (*get)(const void*);
  void (*set)(void*, i64);
  std::vector<std::string> names;
};

using Ref = std::variant<i64*, i32*, double*, bool*, std::string*, std::optional<double>*, std::vector<i64>*,
                         std::vector<double>*, std::vector<std::string>*, EnumRef>;

struct Spelling {
  std::string flag;                                           // with its dashes
  std::optional<std::string> constant = {};                   // a switch: has no argument and sets this value
  std::function<std::string(std::string_view)> convert = {};  // from the value as written to the field's own form
  bool weak = false;                                          // counts only if no other spelling sets the field
  std::string help = {};                                      // what sets it apart from the main spelling
  std::string metavar = {};                                   // its value in help, if it has a special form
};

struct Field {
  std::string name;
  Ref ref;
  std::string help;
  std::string group;
  std::string metavar;              // name of the value in help; empty: by type
  std::vector<Spelling> spellings;  // the first is the main one
  bool bare = false;                // a word where a flag is wanted is its value
  std::string there;                // Megatron's default, where it differs
  std::string choice;               // a setting replaces others of its choice in a file or a recipe

  std::string key() const;  // the name with underscores: JSON, printed arguments
  bool is_list() const;
  bool is_switch() const { return std::holds_alternative<bool*>(ref); }
  std::string text() const;                 // the value for people: True, None, ['a', 'b']
  std::vector<std::string> values() const;  // the value in the form of set(); empty for an empty optional

  // Takes the value from text. `where` (a flag, or a file and key) begins the message when the text does not fit the
  // kind.
  void set(const std::vector<std::string>& texts, std::string_view where);

  Field& also(std::string flag);  // another flag with the same value
  Field& also(Spelling spelling);
  Field& means(std::string flag, std::string constant, std::string help = {});  // a switch for one value
  Field& shown_as(std::string metavar);
  Field& there_is(std::string megatrons_default);
  Field& one_of(std::string choice);
  Field& also_bare();  // `inspect PATH` is `inspect --load PATH`; of one field of a list
};

class FieldList {
 public:
  // Fields added from here on belong to this group of the help text.
  void group(std::string title) { group_ = std::move(title); }

  // Adds a field; bool members become switches `--name`. The reference stays valid.
  Field& add(std::string name, Ref ref, std::string help);
  // A switch that is on by default: `--no-name` and `--disable-name` turn it off.
  Field& add_on(std::string name, bool& member, std::string help);
  template <class T>
  requires(!std::is_enum_v<T>) Field& add(std::string name, T& member, std::string help) {
    return add(std::move(name), Ref(&member), std::move(help));
  }
  template <class E>
  requires std::is_enum_v<E> Field& add(std::string name, E& member, std::vector<std::string> names, std::string help) {
    return add(std::move(name),
               Ref(EnumRef{&member, [](const void* m) { return i64(*static_cast<const E*>(m)); },
                           [](void* m, i64 v) { *static_cast<E*>(m) = E(v); }, std::move(names)}),
               std::move(help));
  }

  const std::deque<Field>& all() const { return fields_; }
  std::deque<Field>& all() { return fields_; }
  Field* find(std::string_view name);  // by name or key; nullptr if there is none
  void check_unique() const;           // throws if two fields share a name or a flag: a mistake in a list

 private:
  std::deque<Field> fields_;
  std::string group_;
};

// The list of one struct.
template <class Config>
FieldList fields_of(Config& config) {
  FieldList list;
  list_fields(config, list);
  list.check_unique();
  return list;
}

// One field that two configs of the same struct have with different values.
struct Difference {
  std::string name;
  std::string expected;
  std::string found;
};
std::vector<Difference> differences(const FieldList& expected, const FieldList& found);

bool parse_bool(std::string_view text, std::string_view where);

}  // namespace megalith::config
