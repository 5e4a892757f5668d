#include "tokens/chat/chat_format.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/check.h"
#include "base/check_no_pipe.h"
#include "tokens/chat/call.h"
#include "tokens/chat/named_formats.h"
#include "tokens/hf/json.h"

namespace megalith::chat {

namespace fs = std::filesystem;

namespace {

std::string read_text(const fs::path& file) {
  check_no_pipe(file.string(), file.string());
  std::ifstream in(file, std::ios::binary);
  check(in.is_open(), "{}: cannot be read: does it exist?", file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

using hf::Json;

Json read_if_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) ? hf::read_json(file.string()) : Json();
}

const Json& member(const Json& json, std::string_view key) {
  static const Json null;
  const Json* found = json.find(key);
  return found ? *found : null;
}

// bos_token and its like: a string, or an object with "content".
void add_special_tokens(const Json& json, Dict& variables) {
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const Json& token = member(json, key);
    const Json& text = token.is_string() ? token : member(token, "content");
    if (text.is_string() && !variables.find(key)) variables.set(key, text.string);
  }
}

std::tm day_of(const std::string& date) {
  std::tm day{};
  char end = 0;
  const bool read = std::sscanf(date.c_str(), "%4d-%2d-%2d%c", &day.tm_year, &day.tm_mon, &day.tm_mday, &end) == 3;
  check(read && day.tm_year >= 1900 && day.tm_mon >= 1 && day.tm_mon <= 12 && day.tm_mday >= 1 && day.tm_mday <= 31,
        "--sft-date {} is no date: want YYYY-MM-DD", date);
  day.tm_year -= 1900, --day.tm_mon;
  day.tm_isdst = -1;
  timegm(&day);  // fills in the day of the week
  return day;
}

// A fixed day, so that a run's data are the same on every rank and on the next morning.
Function clock_at(const std::string& date) {
  return [day = day_of(date)](Call& c) -> Value {
    const std::string format(c.text(0, "format"));
    char text[256];
    return std::string(text, std::strftime(text, sizeof(text), format.c_str(), &day));
  };
}

fs::path folder_of(const TokenizerConfig& c) {
  const fs::path model = c.tokenizer_model.empty() ? c.vocab_file : c.tokenizer_model;
  std::error_code ignored;
  return fs::is_directory(model, ignored) ? model : model.parent_path();
}

// Of a tokenizer_config.json: the text, or of a list the one named "default"; empty if there is none.
std::string template_in(const Json& config) {
  const Json& found = member(config, "chat_template");
  if (found.is_string()) return found.string;
  if (!found.is_list()) return "";
  for (const Json& one : found.items)
    if (member(one, "name").string == "default") return member(one, "template").string;
  return "";
}

Template own_template(const fs::path& folder, const Json& config) {
  const fs::path file = folder / "chat_template.jinja";
  std::error_code ignored;
  if (fs::exists(file, ignored)) return Template(read_text(file), file.string());
  const std::string source = template_in(config);
  check(!source.empty(),
        "{}: neither chat_template.jinja nor a \"chat_template\" in tokenizer_config.json: name a format with "
        "--sft-tokenizer-prompt-format",
        folder.string());
  return Template(source, (folder / "tokenizer_config.json").string() + ": chat_template");
}

}  // namespace

ChatFormat find_chat_format(const std::string& name, const TokenizerConfig& tokenizer, const std::string& date) {
  const fs::path folder = folder_of(tokenizer);
  const Json config = read_if_there(folder / "tokenizer_config.json");
  Dict variables;
  add_special_tokens(config, variables);
  add_special_tokens(read_if_there(folder / "special_tokens_map.json"), variables);
  variables.set("strftime_now", clock_at(date));
  if (name == "default") return {own_template(folder, config), std::move(variables), {}};
  if (name.ends_with(".jinja")) return {Template(read_text(name), name), std::move(variables), {}};
  std::string known;
  for (const NamedFormat& f : named_formats()) {
    known.append(f.name).append(", ");
    if (f.name != name) continue;
    std::istringstream marks{std::string(f.marks)};
    return {Template(f.source, "the format " + name),
            std::move(variables),
            {std::istream_iterator<std::string>(marks), {}}};
  }
  fail(
      "--sft-tokenizer-prompt-format {} is not one we have: use {}default (the tokenizer's own template) or a "
      "file.jinja",
      name, known);
}

}  // namespace megalith::chat
