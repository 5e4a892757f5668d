#include "config/parse.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "config/file.h"

namespace megalith::config {
namespace {

bool is_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

i64 edit_distance(std::string_view a, std::string_view b) {
  std::vector<i64> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = i64(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    i64 diagonal = row[0];
    row[0] = i64(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const i64 above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Reads the words of one command line into settings.
class Words {
 public:
  Words(const FlagIndex& index, std::span<const std::string> words, std::vector<std::string>& notes)
      : index_(index), words_(words), notes_(notes) {}

  std::vector<Setting> read() {
    while (at_ < words_.size()) read_flag();
    return std::move(settings_);
  }
  const std::string& config_file() const { return config_file_; }

 private:
  void read_flag() {
    const std::string& word = words_[at_++];
    if (!is_flag(word)) return read_bare(word);
    const size_t equals = word.find('=');
    last_ = word.substr(0, equals);
    attached_.reset();
    if (equals != std::string::npos) attached_ = word.substr(equals + 1);
    if (last_ == "--config") {
      check(config_file_.empty(), "--config is given twice: one file is read, put all into it");
      config_file_ = one_value();
      check(!config_file_.empty(), "--config wants the name of a YAML file, '' is given");
      return;
    }
    const auto entry = index_.find(last_, "unknown flag " + last_);
    if (entry.other) {
      skip(*entry.other);
    } else {
      settings_.push_back({entry.field, entry.spelling, values_of(*entry.field, *entry.spelling), last_});
    }
  }

  void read_bare(const std::string& word) {
    const FlagIndex::Entry entry = index_.bare();
    check(entry.field && !has_bare_, "unexpected argument '{}'{}: a flag is wanted here", word,
          last_.empty() ? "" : " after " + last_);
    has_bare_ = true;
    settings_.push_back({entry.field, entry.spelling, {word}, entry.spelling->flag});
  }

  std::vector<std::string> values_of(const Field& field, const Spelling& spelling) {
    if (spelling.constant) {
      if (!attached_) return {};
      check(field.is_switch(), "{} takes no value, '{}' is given", last_, *attached_);
      return {parse_bool(*attached_, last_) ? "true" : "false"};
    }
    if (!field.is_list() || spelling.convert) return {one_value()};
    return many_values();
  }

  std::string one_value() {
    if (attached_) return *attached_;
    check(at_ < words_.size() && !is_flag(words_[at_]), "{} wants a value{}", last_,
          at_ < words_.size() ? ", and " + words_[at_] + " follows" : "");
    return words_[at_++];
  }

  std::vector<std::string> many_values() {
    if (attached_) return {*attached_};
    std::vector<std::string> values;
    while (at_ < words_.size() && !is_flag(words_[at_])) values.push_back(words_[at_++]);
    check(!values.empty(), "{} wants one or more values", last_);
    return values;
  }

  void skip(const OtherFlag& other) {
    check(other.accepted, "{}: {}", other.flag, other.why);
    if (other.takes == OtherFlag::Takes::one) one_value();
    if (other.takes == OtherFlag::Takes::many) many_values();
    notes_.push_back(fmt::format("{} has no effect: {}", other.flag, other.why));
  }

  const FlagIndex& index_;
  std::span<const std::string> words_;
  std::vector<std::string>& notes_;
  std::vector<Setting> settings_;
  std::string config_file_;
  bool has_bare_ = false;
  size_t at_ = 0;
  std::string last_;
  std::optional<std::string> attached_;
};

// The field's value that a setting asks for. A switch has no value of its own, or (--x=false, `x: false` in a file) its
// opposite.
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
void apply_weak(std::span<const Setting> settings, Given& given) {
  for (const Setting& setting : settings) {
    if (!setting.spelling->weak || given.has(setting.field->name)) continue;
    const auto values = wanted_values(setting);
    setting.field->set(values, setting.where);
    given.uses[setting.field->name].push_back({setting.spelling->flag, values});
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

}  // namespace

std::string Given::contradiction(std::string_view field) const {
  const auto found = uses.find(field);
  if (found == uses.end()) return {};
  const Use& first = found->second.front();
  for (const Use& use : found->second)
    if (use.flag != first.flag && use.values != first.values) return fmt::format("{} and {}", first.flag, use.flag);
  return {};
}

void apply_settings(std::span<const Setting> source, Given& given) {
  std::map<std::string, std::vector<Given::Use>, std::less<>> uses;
  for (const Setting& setting : source) {
    given.flags.insert(setting.spelling->flag);
    if (setting.spelling->weak) continue;
    const auto values = wanted_values(setting);
    setting.field->set(values, setting.where);
    uses[setting.field->name].push_back({setting.spelling->flag, values});
  }
  for (auto& [name, list] : uses) given.uses[name] = std::move(list);
}

FlagIndex::FlagIndex(FieldList& fields, std::span<const OtherFlag> others) {
  for (Field& field : fields.all())
    for (const Spelling& spelling : field.spellings) {
      entries_[spelling.flag] = {&field, &spelling, nullptr};
      if (field.bare && !bare_.field) bare_ = entries_[spelling.flag];
    }
  for (const OtherFlag& other : others) entries_.insert({other.flag, Entry{nullptr, nullptr, &other}});
}

FlagIndex::Entry FlagIndex::find(const std::string& flag, std::string_view what) const {
  const auto found = entries_.find(flag);
  if (found == entries_.end()) fail("{}: the nearest known one is {} (--help lists all)", what, nearest(flag));
  return found->second;
}

std::string FlagIndex::nearest(std::string_view flag) const {
  constexpr size_t kLongest = 80;  // a longer one is no misspelling, and must not cost time
  std::string best;
  i64 best_distance = 0;
  bool best_is_field = false;
  for (const auto& [known, entry] : entries_) {
    const i64 distance = edit_distance(flag.substr(0, kLongest), known);
    const bool is_field = entry.field != nullptr;
    if (!best.empty() && (distance > best_distance || (distance == best_distance && (best_is_field || !is_field))))
      continue;
    best = known, best_distance = distance, best_is_field = is_field;
  }
  return best;
}

ParseResult parse(FieldList& fields, std::span<const std::string> arguments, std::span<const OtherFlag> others) {
  ParseResult result;
  for (const std::string& word : arguments) result.help = result.help || word == "--help" || word == "-h";
  if (result.help) return result;
  const FlagIndex index(fields, others);
  Words words(index, arguments, result.notes);
  std::vector<Setting> settings = words.read();
  if (!words.config_file().empty()) {
    const std::vector<Setting> from_file = read_yaml(words.config_file(), index, result.notes);
    apply_settings(from_file, result.given);
    apply_settings(settings, result.given);
    settings.insert(settings.end(), from_file.begin(), from_file.end());
  } else {
    apply_settings(settings, result.given);
  }
  result.warnings = repeats(fields, result.given);
  apply_weak(settings, result.given);
  return result;
}

}  // namespace megalith::config
