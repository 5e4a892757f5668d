#include "tokens/chat/chat_format.h"

#include <fmt/ranges.h>

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
#include "tokens/hf/beside.h"

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

using hf::member;

std::tm day_of(const std::string& date) {
  std::tm day{};
  char end = 0;
  const bool read = std::sscanf(date.c_str(), "%4d-%2d-%2d%c", &day.tm_year, &day.tm_mon, &day.tm_mday, &end) == 3;
  check(read && day.tm_year >= 1900 && day.tm_mon >= 1 && day.tm_mon <= 12 && day.tm_mday >= 1 && day.tm_mday <= 31,
        "--sft-date {} is no date: want YYYY-MM-DD", date);
  day.tm_year -= 1900, --day.tm_mon;
  day.tm_isdst = -1;
  timegm(&day);  // computes the day of the week
  return day;
}

// A fixed date, so a run's data are equal on all ranks and on every day.
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

// The template in a tokenizer_config.json: the text, or the one with this name in a list. Empty if there is none.
std::string template_in(const Json& config, std::string_view name) {
  const Json& found = member(config, "chat_template");
  if (found.is_string()) return name == "default" ? found.string : "";
  if (!found.is_list()) return "";
  for (const Json& one : found.items)
    if (member(one, "name").string == name) return member(one, "template").string;
  return "";
}

std::optional<Template> template_of(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  return Template(read_text(file), file.string());
}

std::vector<std::string_view> names_of_formats() {
  std::vector<std::string_view> names;
  for (const NamedFormat& f : named_formats()) names.push_back(f.name);
  return names;
}

// Template files override those of tokenizer_config.json.
ChatFormat own_format(const fs::path& folder, const Json& config, Dict variables) {
  auto text = template_of(folder / "chat_template.jinja");
  auto with_tools = template_of(folder / "additional_chat_templates" / "tool_use.jinja");
  if (!text && !with_tools) {
    const auto named = [&](std::string_view name) -> std::optional<Template> {
      const std::string source = template_in(config, name);
      if (source.empty()) return std::nullopt;
      return Template(source, (folder / "tokenizer_config.json").string() + ": chat_template");
    };
    text = named("default"), with_tools = named("tool_use");
  }
  check(text.has_value(),
        "--sft-tokenizer-prompt-format default: {} has neither chat_template.jinja nor a \"chat_template\" in "
        "tokenizer_config.json: give a file.jinja, or one of {}",
        folder.empty() ? "this tokenizer" : folder.string(), fmt::join(names_of_formats(), ", "));
  return {std::move(*text), std::move(variables), {}, std::move(with_tools)};
}

}  // namespace

ChatFormat find_chat_format(const std::string& name, const TokenizerConfig& tokenizer, const std::string& date) {
  const fs::path folder = folder_of(tokenizer);
  const hf::Beside beside = hf::read_beside(folder, hf::read_json_if_there((folder / "tokenizer.json").string()));
  Dict variables;
  for (const auto& [name, token] : beside.named) variables.set(name, token.content);
  variables.set("strftime_now", clock_at(date));
  if (name == "default") return own_format(folder, beside.config, std::move(variables));
  if (name.ends_with(".jinja")) return {Template(read_text(name), name), std::move(variables), {}};
  for (const NamedFormat& f : named_formats()) {
    if (f.name != name) continue;
    std::istringstream marks{std::string(f.marks)};
    return {Template(f.source, "the format " + name),
            std::move(variables),
            {std::istream_iterator<std::string>(marks), {}}};
  }
  fail(
      "--sft-tokenizer-prompt-format {} is not supported: use {}, default (the tokenizer's own template) or a "
      "file.jinja",
      name, fmt::join(names_of_formats(), ", "));
}

}  // namespace megalith::chat
