#include "tokens/sentence_splitter.h"

#include <algorithm>
#include <span>
#include <string>

#include "tokens/unicode.h"

namespace megalith {

namespace {

// In lower case, without the last full stop; each list is sorted.
constexpr std::string_view kNeverLast[] = {"approx", "ca",  "capt", "cf",  "cmdr", "col",    "dr",  "e.g", "fr", "gen",
                                           "gov",    "hon", "i.e",  "lt",  "maj",  "messrs", "mr",  "mrs", "ms", "mt",
                                           "prof",   "rep", "rev",  "sen", "sgt",  "st",     "viz", "vs"};
constexpr std::string_view kBeforeNumbers[] = {"apr",  "art", "aug", "ch",  "dec",  "eq",  "eqs", "feb", "fig",
                                               "figs", "jan", "jul", "jun", "mar",  "no",  "nos", "nov", "oct",
                                               "p",    "pp",  "sec", "sep", "sept", "tab", "vol", "vols"};
constexpr std::string_view kSometimesLast[] = {"al",  "ave", "blvd", "bros", "co", "corp", "dept", "est",
                                               "etc", "inc", "jr",   "ltd",  "rd", "sr",   "univ"};
constexpr std::string_view kStarters[] = {
    "A",      "After", "All",  "Also", "Although", "An",    "And",   "As",    "At",      "Because", "Before", "But",
    "By",     "For",   "From", "He",   "Her",      "Here",  "His",   "How",   "However", "I",       "If",     "In",
    "It",     "Its",   "Many", "Most", "My",       "No",    "Not",   "Now",   "On",      "One",     "Our",    "She",
    "Since",  "So",    "Some", "That", "The",      "Their", "Then",  "There", "These",   "They",    "This",   "Those",
    "Though", "To",    "We",   "What", "When",     "Where", "While", "Who",   "Why",     "With",    "Yes",    "You"};
static_assert(std::ranges::is_sorted(kNeverLast) && std::ranges::is_sorted(kBeforeNumbers) &&
              std::ranges::is_sorted(kSometimesLast) && std::ranges::is_sorted(kStarters));

bool in(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::binary_search(list, word);
}

constexpr bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Characters between a mark and the white space, and before the first letter of a sentence.
constexpr std::string_view kClosing[] = {"\"",     "'",      ")",      "]",      "}",     "\u2019",
                                         "\u201D", "\u00BB", "\u300D", "\u300F", "\uFF09"};
constexpr std::string_view kOpening[] = {"\"",     "'",      "(",      "[",      "{",     "\u2018",
                                         "\u201C", "\u00AB", "\u300C", "\u300E", "\uFF08"};
constexpr std::string_view kWideMarks[] = {"\u3002", "\uFF01", "\uFF1F"};  // 。！？

class Cut {
 public:
  explicit Cut(std::string_view text) : text_(text) {}

  // The end of the sentence that begins at `begin`, after its marks and closing characters. text.size() for the last
  // one.
  size_t sentence_end(size_t begin) const {
    for (size_t i = begin; i < text_.size();) {
      const size_t wide = past(i, kWideMarks);
      const size_t marks = wide > i ? wide : past_marks(i);
      if (marks == i) {
        ++i;
        continue;
      }
      const size_t end = past(marks, kClosing);
      const size_t next = past_space(end);
      if (next == text_.size()) return end;
      if (wide > i || (next > end && ends_here(begin, i, marks, next))) return end;
      i = end;
    }
    return text_.size();
  }

  // The end of text[begin, end) without trailing white space.
  size_t before_space(size_t begin, size_t end) const {
    while (end > begin) {
      size_t last = end - 1;
      while (last > begin && (u8(text_[last]) & 0xC0) == 0x80) --last;
      if (!is_space(at(last).code_point) || last + at(last).length != end) break;
      end = last;
    }
    return end;
  }

  size_t past_space(size_t i) const {
    while (i < text_.size()) {
      const Utf8Char c = at(i);
      if (!is_space(c.code_point)) break;
      i += c.length;
    }
    return i;
  }

 private:
  Utf8Char at(size_t i) const { return read_utf8(reinterpret_cast<const u8*>(text_.data()) + i, text_.size() - i); }

  size_t past_marks(size_t i) const {
    while (i < text_.size() && (text_[i] == '.' || text_[i] == '!' || text_[i] == '?')) ++i;
    return i;
  }

  size_t past(size_t i, std::span<const std::string_view> list) const {
    for (;;) {
      const auto found = std::ranges::find_if(list, [&](auto s) { return text_.substr(i).starts_with(s); });
      if (found == list.end()) return i;
      i += found->size();
    }
  }

  // The marks are text[i, marks); the next word is at `next`.
  bool ends_here(size_t begin, size_t i, size_t marks, size_t next) const {
    const size_t first = past(next, kOpening);
    if (first < text_.size() && class_table()[at(first).code_point] == CharClass::lower) return false;
    const bool one_stop = marks == i + 1 && text_[i] == '.';
    return !one_stop || !is_abbreviation(begin, i, first);
  }

  // Whether the full stop at text[stop] belongs to the word before it.
  bool is_abbreviation(size_t begin, size_t stop, size_t next) const {
    constexpr size_t kLongest = 16;
    const size_t earliest = std::max(begin, stop - std::min(stop, kLongest));
    size_t word = stop;
    while (word > earliest && (is_ascii_letter(text_[word - 1]) || is_digit(text_[word - 1]) || text_[word - 1] == '.'))
      --word;
    std::string low(text_.substr(word, stop - word));
    if (low.empty()) return false;
    const bool is_initial = low.size() == 1 && low[0] >= 'A' && low[0] <= 'Z' && low != "I";
    for (char& c : low) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    if (std::ranges::all_of(low, is_digit)) return past_space(begin) == word;  // the number of a heading or a list item
    if (is_initial || in(kNeverLast, low)) return true;
    if (in(kBeforeNumbers, low)) return next < text_.size() && is_digit(text_[next]);
    const bool has_stops = low.find('.') != std::string::npos;  // U.S, p.m, Ph.D
    return (has_stops || in(kSometimesLast, low)) && !in(kStarters, word_at(next));
  }

  std::string_view word_at(size_t i) const {
    size_t end = i;
    while (end < text_.size() && is_ascii_letter(text_[end])) ++end;
    return text_.substr(i, end - i);
  }

  std::string_view text_;
};

}  // namespace

void SentenceSplitter::split(std::string_view text, std::vector<std::string_view>& out) const {
  const Cut cut(text);
  for (size_t begin = keep_space_ ? 0 : cut.past_space(0); begin < text.size();) {
    const size_t end = cut.sentence_end(begin), next = cut.past_space(end);
    out.push_back(text.substr(begin, (keep_space_ ? next : cut.before_space(begin, end)) - begin));
    begin = next;
  }
}

}  // namespace megalith
