#include "config/parse.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/mistakes.h"
#include "config/file.h"
#include "config/odd_word.h"
#include "config/over.h"
#include "config/words.h"

namespace megalith::config {
namespace {

// The value that a setting gives its field. A switch has no value, or (--x=false, `x: false` in a file) the opposite
// one.
std::vector<std::string> wanted_values(const Setting& setting) {
  const Spelling& spelling = *setting.spelling;
  if (spelling.constant && setting.values == std::vector<std::string>{"false"})
    return {parse_bool(*spelling.constant, setting.where) ? "false" : "true"};
  if (spelling.constant) return {*spelling.constant};
  if (!spelling.convert) return setting.values;
  check(setting.values.size() == 1, "{}: one value is wanted, {} are given", setting.where, setting.values.size());
  try {
    return {spelling.convert(setting.values[0])};
  } catch (const Error& error) {
    fail("{}: {}", setting.where, error.what());
  }
}

// Weak spellings (--group-query-attention: one group) count where nothing else has set the field.
void apply_weak(const Source& source, Given& given) {
  for (const Setting& setting : source.settings) {
    if (!setting.spelling->weak || given.has(setting.field->name)) continue;
    const auto values = wanted_values(setting);
    setting.field->set(values, setting.where);
    given.uses[setting.field->name].push_back({setting.spelling->flag, values, source.from});
  }
}

// "--lr 0.1", cut where a list is long.
std::string written(const Given::Use& use) {
  constexpr size_t kMost = 80;
  std::string text = fmt::format("{} {}", use.flag, fmt::join(use.values, " "));
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

// Fields that are set more than once to different values: people append a flag to change a script's, but mean to add to
// a list too.
std::vector<std::string> repeats(const FieldList& fields, const Given& given) {
  std::vector<std::string> out;
  for (const Field& field : fields.all()) {
    const auto found = given.uses.find(field.name);
    if (found == given.uses.end()) continue;
    const Given::Use& last = found->second.back();
    for (const Given::Use& use : found->second) {
      if (use.values == last.values) continue;
      out.push_back(fmt::format("{} and {} are both given: the last one holds{}", written(use), written(last),
                                field.is_list() ? "; a list goes behind one flag" : ""));
      break;
    }
  }
  return out;
}

void apply_settings(Source& source, Given& given) {
  std::map<std::string, std::vector<Given::Use>, std::less<>> uses;
  for (const Setting& setting : source.settings) {
    given.flags.insert(setting.spelling->flag);
    if (setting.spelling->weak) continue;
    try {
      const auto values = wanted_values(setting);
      setting.field->set(values, setting.where);
      uses[setting.field->name].push_back({setting.spelling->flag, values, source.from});
    } catch (const Error& e) {
      source.mistakes.push_back(e.what());
      source.unread.insert("--" + setting.field->name);
    }
  }
  for (auto& [name, list] : uses) given.uses[name] = std::move(list);
}

struct Sources {
  Source line, file, under;
};

// --train-samples of the line replaces the train-iters of a file or a recipe.
void drop_replaced(const Source& over, Source& below) {
  std::erase_if(below.settings, [&](const Setting& low) {
    return std::ranges::any_of(over.settings, [&](const Setting& high) {
      return !low.field->choice.empty() && low.field->choice == high.field->choice && low.field != high.field;
    });
  });
}

Sources read_sources(const Under& under, const FlagIndex& index, FieldList& fields,
                     std::span<const std::string> arguments) {
  std::string config_file, none;
  Sources all{.line = read_words(index, arguments, config_file), .file = {}, .under = {}};
  if (!config_file.empty()) {
    try {
      all.file = read_yaml(config_file, index);
    } catch (const Error& e) {
      all.line.mistakes.push_back(e.what());
      for (const Field& field : fields.all()) all.line.unread.insert("--" + field.name);  // it may say anything
    }
  }
  all.under = read_words(index, under.words, none);
  for (Setting& setting : all.under.settings) setting.where = fmt::format("{}: {}", under.name, setting.where);
  for (std::string& mistake : all.under.mistakes) mistake = fmt::format("{}: {}", under.name, mistake);
  all.file.from = Given::From::file, all.under.from = Given::From::under;
  drop_replaced(all.line, all.file), drop_replaced(all.line, all.under), drop_replaced(all.file, all.under);
  return all;
}

void tell_fates(const Source& line, const Source& file, std::span<const std::string> words, ParseResult& result) {
  std::vector<OtherUse> uses = line.others;
  uses.insert(uses.end(), file.others.begin(), file.others.end());
  Fates fates = fates_of(uses, result.given.flags);
  result.notes = std::move(fates.notes);
  result.wrong.refusals = std::move(fates.refusals);
  const bool in_file = std::any_of(fates.refused.begin(), fates.refused.end(), [](auto* use) { return use->end == 0; });
  if (!fates.refused.empty() && !in_file) result.wrong.rest = line_without(words, uses, fates.refused);
}

}  // namespace

std::vector<std::string> Wrong::lines() const {
  std::vector<std::string> all = mistakes;
  for (const Refusal& refusal : refusals) all.push_back(refusal.text());
  return all;
}

std::string Given::contradiction(std::string_view field) const {
  const auto found = uses.find(field);
  if (found == uses.end()) return {};
  const Use& first = found->second.front();
  for (const Use& use : found->second)
    if (use.flag != first.flag && use.values != first.values) return fmt::format("{} and {}", first.flag, use.flag);
  return {};
}

ParseResult parse_all(FieldList& fields, std::span<const std::string> arguments, std::span<const OtherFlag> others) {
  return parse_over({}, fields, arguments, others);
}

ParseResult parse_over(const Under& under, FieldList& fields, std::span<const std::string> arguments,
                       std::span<const OtherFlag> others) {
  ParseResult result;
  for (const std::string& word : arguments) result.help = result.help || word == "--help" || word == "-h";
  if (result.help) return result;
  check_line_ends(arguments);
  const FlagIndex index(fields, others);
  Sources all = read_sources(under, index, fields, arguments);
  for (Source* source : {&all.under, &all.file, &all.line}) apply_settings(*source, result.given);
  for (Source* source : {&all.line, &all.file, &all.under}) {
    for (std::string& mistake : source->mistakes) result.wrong.mistakes.push_back(std::move(mistake));
    result.wrong.unread.merge(source->unread);
  }
  result.warnings = repeats(fields, result.given);
  for (const Source* source : {&all.line, &all.file, &all.under}) apply_weak(*source, result.given);
  tell_fates(all.line, all.file, arguments, result);
  return result;
}

std::map<std::string, std::string, std::less<>> origins(const Under& under, FieldList& fields,
                                                        std::span<const std::string> arguments,
                                                        std::span<const OtherFlag> others) {
  const FlagIndex index(fields, others);
  const Sources all = read_sources(under, index, fields, arguments);
  std::map<std::string, std::string, std::less<>> found;
  for (const Source* source : {&all.line, &all.file, &all.under})
    for (const bool weak : {false, true}) {
      std::map<std::string, std::string, std::less<>> here;
      for (const Setting& s : source->settings)
        if (s.spelling->weak == weak) here[s.field->name] = s.where.substr(0, s.where.rfind(": "));
      found.merge(here);
    }
  return found;
}

ParseResult parse(FieldList& fields, std::span<const std::string> arguments, std::span<const OtherFlag> others) {
  ParseResult result = parse_all(fields, arguments, others);
  if (result.wrong.any()) throw Mistakes(result.wrong.lines());
  return result;
}

}  // namespace megalith::config
