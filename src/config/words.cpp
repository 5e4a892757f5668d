#include "config/words.h"

#include <fmt/ranges.h>

#include <optional>

#include "config/misspelt.h"
#include "config/odd_word.h"

namespace megalith::config {
namespace {

bool is_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

class Words {
 public:
  Words(const FlagIndex& index, std::span<const std::string> words, std::string& config_file)
      : index_(index), words_(words), config_file_(config_file) {}

  Source read() {
    while (at_ < words_.size()) {
      try {
        read_flag();
      } catch (const Error& e) {
        source_.mistakes.push_back(e.what());
      }
    }
    return std::move(source_);
  }

 private:
  void read_flag() {
    const size_t begin = at_;
    const std::string& word = words_[at_++];
    if (!is_flag(word)) return read_bare(word);
    const size_t equals = word.find('=');
    last_ = word.substr(0, equals);
    attached_.reset();
    if (equals != std::string::npos) attached_ = word.substr(equals + 1);
    if (last_ == "--config") return read_config();
    last_is_switch_ = false;
    const FlagIndex::Entry entry = known(word);
    last_is_switch_ = entry.spelling && entry.spelling->constant && !attached_;
    if (entry.other) return read_other(*entry.other, begin);
    try {
      std::vector<std::string> values = values_of(*entry.field, *entry.spelling);
      if (entry.field->name != "prompt") check_quotes(values);
      source_.settings.push_back({entry.field, entry.spelling, std::move(values), last_});
    } catch (const Error&) {
      source_.unread.insert("--" + entry.field->name);
      throw;
    }
  }

  // The words after an unknown flag count as its values.
  FlagIndex::Entry known(const std::string& word) {
    try {
      return index_.find(last_, "unknown flag " + last_);
    } catch (const Error&) {
      following();
      const std::string odd = odd_word(word), meant = misspelt_field(index_, last_);
      check(odd.empty(), "{}", odd);
      if (!meant.empty()) source_.unread.insert(meant);
      throw;
    }
  }

  void read_config() {
    const std::string file = one_value();
    check(config_file_.empty(), "--config is given twice: one file is read, put all into it");
    check(!file.empty(), "--config wants the name of a YAML file, '' is given");
    config_file_ = file;
  }

  void read_bare(const std::string& word) {
    const FlagIndex::Entry entry = index_.bare();
    if (entry.field && !has_bare_) {
      has_bare_ = true;
      return source_.settings.push_back({entry.field, entry.spelling, {word}, entry.spelling->flag});
    }
    std::vector<std::string> surplus = following();
    const std::string odd = odd_word(word);
    check(odd.empty(), "{}", odd);
    check(!last_is_switch_, "{} takes no value: leave '{}' out", last_, word);
    surplus.insert(surplus.begin(), word);
    const std::string after = last_.empty() ? "" : " after " + last_;
    check(surplus.size() > 1, "unexpected argument '{}'{}: a flag is wanted here", word, after);
    fail("unexpected arguments '{}'{}: a flag is wanted here", fmt::join(surplus, "', '"), after);
  }

  void check_quotes(const std::vector<std::string>& values) const {
    for (const std::string& value : values)
      check(!has_typographic_quotes(value),
            "{} {}: these quotes are typographic ones, which a shell takes for letters: write ' instead", last_, value);
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
    if (attached_ && attached_->empty() && at_ < words_.size() && !is_flag(words_[at_]))
      fail("{}= has no value, and '{}' follows: write no blank after the =", last_, following()[0]);
    if (attached_) return *attached_;
    check(at_ < words_.size() && !is_flag(words_[at_]), "{} wants a value{}", last_,
          at_ < words_.size() ? ", and " + words_[at_] + " follows" : "");
    return words_[at_++];
  }

  std::vector<std::string> following() {
    std::vector<std::string> values;
    while (at_ < words_.size() && !is_flag(words_[at_])) values.push_back(words_[at_++]);
    return values;
  }

  std::vector<std::string> many_values() {
    if (attached_) return {*attached_};
    std::vector<std::string> values = following();
    check(!values.empty(), "{} wants one or more values", last_);
    return values;
  }

  void read_other(const OtherFlag& other, size_t begin) {
    using Takes = OtherFlag::Takes;
    std::vector<std::string> values;
    if (other.takes == Takes::one) values = {one_value()};
    if (other.takes == Takes::many) values = attached_ ? std::vector{*attached_} : following();
    if (other.takes == Takes::nothing && attached_ && !parse_bool(*attached_, last_))
      return;  // a switch that is not given
    source_.others.push_back({&other, values, last_, begin, at_});
    if (!other.means.empty()) read_means(other, values);
    if (const std::string meant = meant_field(index_, other); !meant.empty()) source_.unread.insert(meant);
  }

  // The words that replace an old spelling.
  void read_means(const OtherFlag& other, const std::vector<std::string>& values) {
    std::vector<std::string> words = other.means;
    words.insert(words.end(), values.begin(), values.end());
    Source today = read_words(index_, words, config_file_);
    for (Setting& setting : today.settings) source_.settings.push_back(std::move(setting));
    for (std::string& mistake : today.mistakes) source_.mistakes.push_back(std::move(mistake));
    source_.unread.merge(today.unread);
  }

  const FlagIndex& index_;
  std::span<const std::string> words_;
  std::string& config_file_;
  Source source_;
  bool has_bare_ = false;
  size_t at_ = 0;
  std::string last_;
  bool last_is_switch_ = false;
  std::optional<std::string> attached_;
};

}  // namespace

Source read_words(const FlagIndex& index, std::span<const std::string> words, std::string& config_file) {
  return Words(index, words, config_file).read();
}

}  // namespace megalith::config
