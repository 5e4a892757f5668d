// A parsed JSON file as a tree. Errors name the file and the place.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace megalith::hf {

struct Json {
  enum class Kind { null, boolean, number, string, list, object };
  Kind kind = Kind::null;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<Json> items;  // of a list; or the values of an object
  std::vector<std::string> keys;

  bool is_null() const { return kind == Kind::null; }
  bool is_string() const { return kind == Kind::string; }
  bool is_list() const { return kind == Kind::list; }
  bool is_object() const { return kind == Kind::object; }
  const Json* find(std::string_view key) const;  // of equal keys the last; nullptr if missing, or if this is no object

  void set(std::string_view key, Json value);  // of an object; null becomes an object

  // Members of an object with a given type. A missing or null member gives `otherwise`. Another type is an error that
  // names `where`.
  std::string text(std::string_view key, std::string_view otherwise, std::string_view where) const;
  bool flag(std::string_view key, bool otherwise, std::string_view where) const;
  i64 whole(std::string_view key, i64 otherwise, std::string_view where) const;
  const std::vector<Json>& list(std::string_view key, std::string_view where) const;  // required
  std::string type(std::string_view where) const;                                     // "type", which is required
};

Json read_json(const std::string& file);                       // fails if the file is missing or not JSON
Json read_json_if_there(const std::string& file);              // null if the file is missing
Json json_of(std::string_view text, std::string_view where);   // fails, naming `where`, if it is not JSON
const Json& member(const Json& object, std::string_view key);  // null if missing

}  // namespace megalith::hf
