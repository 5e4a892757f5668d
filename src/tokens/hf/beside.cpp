#include "tokens/hf/beside.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/check.h"

namespace megalith::hf {

namespace fs = std::filesystem;

namespace {

constexpr std::array kNames{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

bool is_common(std::string_view key) { return std::ranges::find(kNames, key) != kNames.end(); }

bool is_full(const Json& list) { return (list.is_list() || list.is_object()) && !list.items.empty(); }

// A token: its text, or an object with "content" and settings.
AddedToken token_of(const Json& json, bool special, const std::string& where) {
  if (json.is_string()) return {.content = json.string, .normalized = false, .special = true};
  check(member(json, "content").is_string(), "{}: a token is neither a text nor an object with \"content\"", where);
  return read_added_token(json, special, where);
}

// Reads the files in transformers' order.
class Reader {
 public:
  Reader(const fs::path& folder, const Json& file) : folder_(folder), file_(file) {
    const Json model_config = read_json_if_there((folder / "config.json").string());
    out_.config = read_json_if_there(config_name());
    out_.made_by = class_of(out_.config, model_config, has_bytes(file));
    std::error_code ignored;
    const bool parts = file.keys.size() == 1 && !fs::exists(folder / "tokenizer.json", ignored) &&
                       fs::exists(folder / "vocab.json", ignored);
    if (!out_.made_by && parts && member(out_.config, "tokenizer_class").is_null()) out_.made_by = gpt2_class();
    if (out_.made_by) names_ = json_of(out_.made_by->names, out_.made_by->name);
  }

  Beside read() {
    take_config();
    out_.lists_all = member(out_.config, "added_tokens_decoder").is_object();
    early_extra_ = out_.extra.size();
    if (!out_.lists_all) take_map();
    put_names();
    if (out_.lists_all)
      list_decoder();
    else
      list_legacy();
    return std::move(out_);
  }

 private:
  std::string config_name() const { return (folder_ / "tokenizer_config.json").string(); }
  std::string map_name() const { return (folder_ / "special_tokens_map.json").string(); }

  static bool has_bytes(const Json& j) {
    if (j.is_string()) return j.string == "ByteLevel";
    if (j.keys.size() > 1000) return false;  // a vocabulary
    return (j.is_object() || (j.is_list() && j.items.size() < 1000)) && std::ranges::any_of(j.items, has_bytes);
  }

  void take_config() {
    const Json& c = out_.config;
    if (!c.is_object()) return;
    for (size_t i = 0; i < c.keys.size(); ++i) {
      const std::string& key = c.keys[i];
      const bool token = c.items[i].is_string() || member(c.items[i], "content").is_string();
      if (is_common(key))
        set(key, c.items[i], false, config_name());
      else if (key.ends_with("_token") && token)
        own_.emplace_back(key, token_of(c.items[i], false, config_name()));
    }
    const Json& extra = member(c, "extra_special_tokens");
    const Json& additional = member(c, "additional_special_tokens");
    const bool old = c.find("additional_special_tokens") && !is_full(extra);
    take_extra(old ? additional : extra, config_name());
    has_extra_ = (old || c.find("extra_special_tokens")) && !(old ? additional : extra).is_object();
    if (!old) take_additional(additional, config_name());
  }

  // A list, or an object that names its tokens.
  void take_extra(const Json& extra, const std::string& where) {
    if (extra.is_object()) {
      for (size_t i = 0; i < extra.keys.size(); ++i)
        own_.emplace_back(extra.keys[i], token_of(extra.items[i], false, where));
    } else if (extra.is_list()) {
      for (const Json& item : extra.items) out_.extra.push_back(token_of(item, false, where));
    } else {
      check(extra.is_null(), "{}: extra_special_tokens is neither a list nor an object", where);
    }
  }
  // The old name counts if the new one is absent.
  void take_additional(const Json& list, const std::string& where) {
    if (!has_extra_ && list.is_list()) take_extra(list, where);
  }

  void take_map() {
    const Json map = read_json_if_there(map_name());
    if (!map.is_object()) return;
    for (size_t i = 0; i < map.keys.size(); ++i) {
      const std::string& key = map.keys[i];
      const Json& value = map.items[i];
      const bool token = value.is_string() || member(value, "content").is_string();
      if (is_common(key)) {
        set(key, value, true, map_name());
      } else if (key == "extra_special_tokens") {
        merge_extra(value);
      } else if (key.ends_with("_token") && token) {
        own_.emplace_back(key, special(value));
      }
    }
    early_extra_ = out_.extra.size();
    take_additional(member(map, "additional_special_tokens"), map_name());
  }

  void merge_extra(const Json& value) {
    if (!value.is_list()) {
      out_.extra.clear(), has_extra_ = false;
      return take_extra(value, map_name());
    }
    has_extra_ = true;
    for (const Json& item : value.items) {
      const AddedToken t = special(item);
      const auto same = [&](const AddedToken& other) { return other.content == t.content; };
      if (std::ranges::none_of(out_.extra, same)) out_.extra.push_back(t);
    }
  }

  // Every token of the map is special, whatever its entry says.
  AddedToken special(const Json& json) {
    Json as_special = json;
    if (!json.is_string()) as_special.set("special", json_of("true", map_name()));
    return token_of(as_special, true, map_name());
  }

  void set(const std::string& key, const Json& value, bool in_map, const std::string& where) {
    said_[key] = true;
    if (value.is_null())
      common_.erase(key);
    else
      common_[key] = in_map ? special(value) : token_of(value, false, where);
  }

  void put_names() {
    const Json padding = member(member(file_, "padding"), "pad_token");
    if (!out_.made_by && padding.is_string()) names_.set("pad_token", padding);
    for (const std::string key : kNames) {
      const Json& otherwise = member(names_, key);
      const bool said = said_.contains(key);
      if (said && common_.contains(key))
        out_.named.emplace_back(key, common_[key]);
      else if (!said && otherwise.is_string())
        out_.named.emplace_back(key, token_of(otherwise, false, config_name()));
    }
    for (auto& [key, token] : own_) {
      const auto same = [&key = key](const auto& other) { return other.first == key; };
      const auto known = std::ranges::find_if(out_.named, same);
      if (known != out_.named.end())
        known->second = token;
      else
        out_.named.emplace_back(key, token);
    }
  }

  // From the files, before any default.
  bool is_special(const std::string& text) const {
    const auto early = out_.extra.begin() + std::ptrdiff_t(early_extra_);
    const auto is_it = [&](const AddedToken& t) { return t.content == text; };
    return std::any_of(out_.extra.begin(), early, is_it) ||
           std::ranges::any_of(common_, [&](const auto& n) { return is_it(n.second); });
  }

  void list_decoder() {
    const Json& decoder = member(out_.config, "added_tokens_decoder");
    std::map<i64, AddedToken> by_id;
    for (size_t i = 0; i < decoder.keys.size(); ++i) {
      const std::string& key = decoder.keys[i];
      i64 id = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      check(error == std::errc() && end == key.data() + key.size(),
            "{}: added_tokens_decoder has \"{}\" where an id is wanted", config_name(), key);
      check(decoder.items[i].is_object(), "{}: entry {} of added_tokens_decoder is not an object", config_name(), key);
      by_id[id] = token_of(decoder.items[i], false, config_name());
    }
    for (auto& [_, token] : by_id) out_.listed.push_back(token);
  }

  // Tokens of added_tokens.json, after the file's own tokens of the same ids.
  void list_legacy() {
    const std::string name = (folder_ / "added_tokens.json").string();
    const Json legacy = read_json_if_there(name);
    std::map<i64, AddedToken> by_id;
    for (size_t i = 0; i < legacy.keys.size(); ++i) {
      const bool is_id = legacy.items[i].kind == Json::Kind::number;
      check(is_id, "{}: the id of \"{}\" is no number", name, legacy.keys[i]);
      const bool special = is_special(legacy.keys[i]);
      by_id[i64(legacy.items[i].number)] = {.content = legacy.keys[i], .normalized = !special, .special = special};
    }
    for (const Json& item : member(file_, "added_tokens").items)
      by_id[item.whole("id", -1, name)] = read_added_token(item, false, name);
    for (auto& [_, token] : by_id) out_.listed.push_back(token);
  }

  fs::path folder_;
  const Json& file_;
  Beside out_;
  Json names_;  // of the class
  bool has_extra_ = false;
  size_t early_extra_ = 0;            // tokens of out_.extra that come from the old name in the map
  std::map<std::string, bool> said_;  // the keys of kNames that a file has, also with null
  std::map<std::string, AddedToken> common_;
  std::vector<std::pair<std::string, AddedToken>> own_;
};

}  // namespace

std::string Beside::name(std::string_view key) const {
  for (const auto& [k, token] : named)
    if (k == key) return token.content;
  return "";
}

Beside read_beside(const fs::path& folder, const Json& file) { return Reader(folder, file).read(); }

// At their end classes add the special tokens again.
static void add_again(const Beside& beside, AddedList& all) {
  const AgainAs as = beside.made_by->again;
  const auto add = [&](const AddedToken& named, bool common) {
    AddedToken t = named;
    if (as == AgainAs::plain) t = {.content = named.content, .normalized = false, .special = true};
    for (const AddedToken& listed : beside.listed)
      if (as == AgainAs::listed && common && listed.content == named.content) t = listed;
    t.make_special();
    all.push_back(std::move(t));
  };
  if (as == AgainAs::no) return;
  for (const auto& [key, token] : beside.named) add(token, is_common(key));
  for (const AddedToken& token : beside.extra) add(token, false);
}

AddedList all_added(const Beside& beside, const Json& file, std::string_view where) {
  AddedList all;
  if (!beside.made_by) all = read_added_list(member(file, "added_tokens"), where);
  const AddedList own = all;
  const auto has = [](const AddedList& list, std::string_view text) {
    return std::ranges::any_of(list, [&](const AddedToken& t) { return t.content == text; });
  };
  // Of equal contents the last counts.
  const auto there = [&](const AddedToken& token) {
    const auto same = [&](const AddedToken& t) { return t.content == token.content; };
    const auto last = std::find_if(own.rbegin(), own.rend(), same);
    return last != own.rend() && last->same_settings(token);
  };
  const auto is_named = [&](const AddedToken& t) {
    return std::ranges::any_of(beside.named, [&](const auto& n) { return n.second.content == t.content; });
  };
  for (const AddedToken& t : beside.listed)
    if (!there(t)) all.push_back(t);
  const AddedList before = all;
  for (const auto& [_, t] : beside.named)
    if (!has(before, t.content)) all.push_back(t);
  for (const AddedToken& t : beside.extra)
    if (!has(before, t.content)) all.push_back(t);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!is_named(all[i])) continue;
    if (i < own.size())
      all[i].special = true;
    else
      all[i].make_special();
  }
  if (beside.made_by) add_again(beside, all);
  return all;
}

}  // namespace megalith::hf
