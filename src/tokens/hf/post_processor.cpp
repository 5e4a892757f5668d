#include "tokens/hf/post_processor.h"

#include <limits>

#include "base/check.h"

namespace megalith::hf {

namespace {

i32 id_of(const Json& id, std::string_view where) {
  const bool ok =
      id.kind == Json::Kind::number && id.number >= 0 && id.number < (1 << 26) && id.number == double(i32(id.number));
  check(ok, "{}: an id in the post_processor is not a whole number from 0 to {}", where, (1 << 26) - 1);
  return i32(id.number);
}

// ["[SEP]", 102]
i32 id_of_pair(const Json& spec, std::string_view key, std::string_view where) {
  const std::vector<Json>& pair = spec.list(key, where);
  check(pair.size() == 2, "{}: \"{}\" of the post_processor is not [token, id]", where, key);
  return id_of(pair[1], where);
}

Surround read_template(const Json& spec, std::string_view where) {
  const Json* special = spec.find("special_tokens");
  Surround s;
  bool behind = false;
  for (const Json& item : spec.list("single", where)) {
    if (const Json* sequence = item.find("Sequence")) {
      check(!behind && sequence->text("id", "A", where) == "A",
            "{}: the template has a second text: one A is possible for a single text", where);
      behind = true;
      continue;
    }
    const Json* token = item.find("SpecialToken");
    check(token != nullptr, "{}: an item of the template is neither a SpecialToken nor a Sequence", where);
    const std::string name = token->text("id", "", where);
    const Json* entry = special ? special->find(name) : nullptr;
    check(entry != nullptr, "{}: the template's \"{}\" is not among its special_tokens", where, name);
    for (const Json& id : entry->list("ids", where)) (behind ? s.after : s.before).push_back(id_of(id, where));
  }
  return s;
}

}  // namespace

Surround read_post_processor(const Json& spec, std::string_view where) {
  if (spec.is_null()) return {};
  const std::string type = spec.type(where);
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return read_template(spec, where);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return {{id_of_pair(spec, "cls", where)}, {id_of_pair(spec, "sep", where)}};
  }
  if (type == "Sequence") {
    Surround all;
    for (const Json& item : spec.list("processors", where)) {
      const Surround s = read_post_processor(item, where);
      all.before.insert(all.before.begin(), s.before.begin(), s.before.end());
      all.after.insert(all.after.end(), s.after.begin(), s.after.end());
    }
    return all;
  }
  fail("{}: the post-processor {} is not supported", where, type);
}

}  // namespace megalith::hf
