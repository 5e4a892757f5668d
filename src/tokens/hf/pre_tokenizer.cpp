#include "tokens/hf/pre_tokenizer.h"

#include "base/check.h"
#include "tokens/byte_alphabet.h"
#include "tokens/hf/code_sets.h"
#include "tokens/hf/cutter.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

// Cuts each piece at the matches of `Finder`: void find(std::string_view, std::vector<Span>&).
template <class Finder>
class Cutting : public PreTokenizer {
 public:
  Cutting(Finder finder, Behavior behavior, bool invert)
      : finder_(std::move(finder)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& all) override {
    out_.clear();
    for (const Pieces::Piece& p : all.pieces) {
      found_.clear();
      finder_(all.of(p), found_);
      cut(p, found_, behavior_, invert_, out_);
    }
    all.pieces.swap(out_);
  }

 private:
  Finder finder_;
  Behavior behavior_;
  bool invert_;
  std::vector<Span> found_;
  std::vector<Pieces::Piece> out_;
};

template <class Finder>
std::unique_ptr<PreTokenizer> cutting(Finder finder, Behavior behavior, bool invert = false) {
  return std::make_unique<Cutting<Finder>>(std::move(finder), behavior, invert);
}

// Each character for which is(code point) is true.
template <class Is>
auto each_char(Is is) {
  return [is](std::string_view text, std::vector<Span>& found) {
    const auto* bytes = reinterpret_cast<const u8*>(text.data());
    for (size_t i = 0; i < text.size();) {
      const Utf8Char c = read_utf8(bytes + i, text.size() - i);
      if (is(c.code_point)) found.push_back({i, i + c.length});
      i += c.length;
    }
  };
}

// Runs of characters of one class, without class 0.
template <class ClassOf>
auto runs(ClassOf class_of) {
  return [class_of](std::string_view text, std::vector<Span>& found) {
    const auto* bytes = reinterpret_cast<const u8*>(text.data());
    int last = 0;
    for (size_t i = 0; i < text.size();) {
      const Utf8Char c = read_utf8(bytes + i, text.size() - i);
      const int type = class_of(c.code_point);
      if (type != 0 && type == last) {
        found.back().end = i + c.length;
      } else if (type != 0) {
        found.push_back({i, i + c.length});
      }
      last = type;
      i += c.length;
    }
  };
}

// Rewrites each piece: `f` appends its new text.
template <class F>
class Rewriting : public PreTokenizer {
 public:
  explicit Rewriting(F f) : f_(std::move(f)) {}
  void apply(Pieces& all) override {
    out_.clear();
    for (Pieces::Piece& p : all.pieces) {
      const size_t begin = out_.size();
      f_(all.of(p), p.first, out_);
      p.begin = begin, p.end = out_.size();
    }
    all.text.swap(out_);
  }

 private:
  F f_;
  std::string out_;
};

template <class F>
std::unique_ptr<PreTokenizer> rewriting(F f) {
  return std::make_unique<Rewriting<F>>(std::move(f));
}

class Both : public PreTokenizer {
 public:
  Both(std::unique_ptr<PreTokenizer> a, std::unique_ptr<PreTokenizer> b) : a_(std::move(a)), b_(std::move(b)) {}
  void apply(Pieces& all) override { a_->apply(all), b_->apply(all); }

 private:
  std::unique_ptr<PreTokenizer> a_, b_;
};

std::unique_ptr<PreTokenizer> by_regex(std::string_view regex, Behavior behavior, bool invert, std::string_view where) {
  return cutting(
      [r = Regex(regex, where)](std::string_view text, std::vector<Span>& found) mutable { r.find_all(text, found); },
      behavior, invert);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("\\.+*?()|[]{}^$#&-~/").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::unique_ptr<PreTokenizer> make_split(const Json& step, std::string_view where) {
  const Behavior behavior = behavior_of(step.text("behavior", "", where), where);
  const bool invert = step.flag("invert", false, where);
  const Json* pattern = step.find("pattern");
  const Json* text = pattern ? pattern->find("String") : nullptr;
  const Json* regex = pattern ? pattern->find("Regex") : nullptr;
  if (text && text->is_string()) return by_regex(escaped(text->string), behavior, invert, where);
  check(regex && regex->is_string(), "{}: Split needs a pattern: {{\"String\": ...}} or {{\"Regex\": ...}}", where);
  return by_regex(regex->string, behavior, invert, where);
}

std::unique_ptr<PreTokenizer> prefix_step(std::string prefix) {
  return rewriting([prefix = std::move(prefix)](std::string_view text, bool, std::string& out) {
    if (!text.starts_with(prefix)) out += prefix;
    out += text;
  });
}

std::unique_ptr<PreTokenizer> make_metaspace(const Json& step, std::string_view where) {
  const std::string mark = step.text("replacement", "\u2581", where);
  check(!mark.empty() && read_utf8(reinterpret_cast<const u8*>(mark.data()), mark.size()).length == mark.size(),
        "{}: Metaspace's replacement \"{}\" is not one character", where, mark);
  const std::string old = step.flag("add_prefix_space", true, where) ? "always" : "never";
  const std::string scheme = step.text("prepend_scheme", old, where);
  check(scheme == "always" || scheme == "first" || scheme == "never",
        "{}: Metaspace's prepend_scheme \"{}\" is not supported: use always, first or never", where, scheme);
  auto marks = rewriting([=](std::string_view text, bool first, std::string& out) {
    const bool prepend = scheme == "always" || (scheme == "first" && first);
    if (prepend && !text.starts_with(mark) && !text.starts_with(' ')) out += mark;
    for (char c : text) c == ' ' ? out += mark : out += c;
  });
  if (!step.flag("split", true, where)) return marks;
  auto find = [=](std::string_view text, std::vector<Span>& found) {
    for (size_t at = 0; (at = text.find(mark, at)) != std::string_view::npos; at += mark.size())
      found.push_back({at, at + mark.size()});
  };
  return std::make_unique<Both>(std::move(marks), cutting(find, Behavior::merged_with_next));
}

std::unique_ptr<PreTokenizer> make_fixed_length(const Json& step, std::string_view where) {
  const i64 length = step.whole("length", 5, where);
  check(length > 0, "{}: FixedLength's length is {}: want 1 or more", where, length);
  return cutting(
      [length](std::string_view text, std::vector<Span>& found) {
        i64 count = 0;
        size_t begin = 0;
        for (size_t i = 0; i < text.size();) {
          i += read_utf8(reinterpret_cast<const u8*>(text.data()) + i, text.size() - i).length;
          if (++count % length == 0) found.push_back({begin, i}), begin = i;
        }
      },
      Behavior::isolated);
}

bool is_numeric(u32 c) {
  // Unicode 17.0, as in Rust's standard library.
  return is_number(category_of(c)) || (c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6);
}

std::unique_ptr<PreTokenizer> make_char_delimiter(const Json& step, std::string_view where) {
  const std::string delimiter = step.text("delimiter", "", where);
  check(!delimiter.empty(), "{}: CharDelimiterSplit needs a delimiter", where);
  return by_regex(escaped(delimiter), Behavior::removed, false, where);
}

// The cut of ByteLevel, without its prefix and its alphabet.
Json split_step(std::string_view regex) {
  const auto text = [](std::string_view s) {
    Json j;
    j.kind = Json::Kind::string, j.string = s;
    return j;
  };
  Json pattern, step;
  pattern.kind = step.kind = Json::Kind::object;
  pattern.keys = {"Regex"}, pattern.items = {text(regex)};
  step.keys = {"type", "behavior", "pattern"}, step.items = {text("Split"), text("Isolated"), pattern};
  return step;
}

Json named_step(std::string_view type) {
  Json name, step;
  name.kind = Json::Kind::string, name.string = type;
  step.kind = Json::Kind::object, step.keys = {"type"}, step.items = {name};
  return step;
}

constexpr std::string_view kPrefixStep = "ByteLevel.add_prefix_space", kAlphabetStep = "ByteLevel.alphabet";

void flatten(const Json& spec, std::vector<Json>& steps, std::string_view where) {
  const std::string type = spec.type(where);
  if (type == "Sequence") {
    for (const Json& item : spec.list("pretokenizers", where)) flatten(item, steps, where);
  } else if (type == "ByteLevel") {
    if (spec.flag("add_prefix_space", true, where)) steps.push_back(named_step(kPrefixStep));
    if (spec.flag("use_regex", true, where)) steps.push_back(split_step(regex_of(SplitPattern::gpt2)));
    steps.push_back(named_step(kAlphabetStep));
  } else {
    steps.push_back(spec);
  }
}

SplitPattern scanner_of(const std::vector<Json>& steps, std::string_view where) {
  if (steps.size() != 1 || steps[0].type(where) != "Split") return SplitPattern::none;
  const Json* pattern = steps[0].find("pattern");
  const Json* regex = pattern ? pattern->find("Regex") : nullptr;
  if (!regex || !regex->is_string() || regex->string.find('$') != std::string::npos) return SplitPattern::none;
  const std::string behavior = steps[0].text("behavior", "", where);
  const bool invert = steps[0].flag("invert", false, where);
  // The patterns match every character, so there is no text between matches.
  const bool cuts_only = (behavior == "Isolated") || (behavior == "Removed" && invert);
  return cuts_only ? known_pattern(regex->string) : SplitPattern::none;
}

}  // namespace

PreTokenizerPlan plan_pre_tokenizer(const Json& spec, std::string_view where) {
  PreTokenizerPlan plan;
  if (spec.is_null()) return plan;
  flatten(spec, plan.steps, where);
  for (const Json& step : plan.steps) make_pre_tokenizer(step, where);
  if (!plan.steps.empty() && plan.steps.back().type(where) == kAlphabetStep) {
    plan.ends_in_byte_alphabet = true;
    plan.steps.pop_back();
  }
  plan.pattern = scanner_of(plan.steps, where);
  return plan;
}

std::unique_ptr<PreTokenizer> make_byte_alphabet_step() {
  return rewriting([](std::string_view text, bool, std::string& out) {
    for (char b : text) append_utf8(out, byte_alphabet()[u8(b)]);
  });
}

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& step, std::string_view where) {
  const std::string type = step.type(where);
  if (type == kPrefixStep) return prefix_step(" ");
  if (type == kAlphabetStep) return make_byte_alphabet_step();
  if (type == "Split") return make_split(step, where);
  if (type == "Metaspace") return make_metaspace(step, where);
  if (type == "Digits") {
    const bool each = step.flag("individual_digits", false, where);
    return cutting(each_char(is_numeric), each ? Behavior::isolated : Behavior::contiguous);
  }
  if (type == "Punctuation") {
    return cutting(each_char([](u32 c) { return bert_punctuation()[c] != 0; }),
                   behavior_of(step.text("behavior", "Isolated", where), where));
  }
  if (type == "Whitespace") {
    return cutting(runs([](u32 c) { return is_word(c) ? 1 : is_space(c) ? 0 : 2; }), Behavior::removed, true);
  }
  if (type == "WhitespaceSplit") return cutting(each_char(is_space), Behavior::removed);
  if (type == "BertPreTokenizer") {
    return std::make_unique<Both>(
        cutting(each_char(is_space), Behavior::removed),
        cutting(each_char([](u32 c) { return bert_punctuation()[c] != 0; }), Behavior::isolated));
  }
  if (type == "CharDelimiterSplit") return make_char_delimiter(step, where);
  if (type == "FixedLength") return make_fixed_length(step, where);
  fail("{}: the pre-tokenizer {} is not supported", where, type);
}

}  // namespace megalith::hf
