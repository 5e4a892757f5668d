#include "plan/stage_layout.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/check.h"

namespace megalith {

namespace {

constexpr const char* kFlag = "--pipeline-model-parallel-layout";
constexpr size_t kMost = 1 << 16;  // letters and bars

// The text with all repetitions written out: only E, t, L and |.
class Unroller {
 public:
  explicit Unroller(std::string_view text) {
    for (const char c : text)
      if (std::string_view(", \t\n\r").find(c) == std::string_view::npos) text_ += c;
  }

  std::string run() {
    while (at_ < text_.size()) {
      const size_t begin = at_;
      const char c = text_[at_++];
      if (c == '(') {
        open_.push_back("");
        continue;
      }
      const std::string unit = c == ')' ? close(begin) : letter(c, begin);
      const size_t n = at_ < text_.size() && text_[at_] == '*' ? times() : 1;
      if (unit.empty()) continue;
      check(n <= (kMost - open_.back().size()) / unit.size(),
            "{} '{}': with its repetitions it has more than {} letters: draw fewer", kFlag, text_, kMost);
      for (size_t i = 0; i < n; ++i) open_.back() += unit;
    }
    check(open_.size() == 1, "{} '{}': a '(' is not closed: add a ')'", kFlag, text_);
    return open_[0];
  }

 private:
  std::string letter(char c, size_t begin) const {
    if (std::string_view("EtedmL|").find(c) == std::string_view::npos)
      fail("{} '{}': '{}' at character {}: E, t, m, L, |, *N and parentheses are wanted, e and d of an encoder-decoder",
           kFlag, text_, c, begin + 1);
    return std::string(1, c);
  }
  std::string close(size_t begin) {
    check(open_.size() > 1, "{} '{}': the ')' at character {} closes nothing: add a '('", kFlag, text_, begin + 1);
    std::string group = std::move(open_.back());
    open_.pop_back();
    return group;
  }
  size_t times() {
    const size_t star = at_++;
    size_t n = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), n);
    check(error == std::errc{} && n >= 1, "{} '{}': the '*' at character {} wants a number of times, 1 or more", kFlag,
          text_, star + 1);
    at_ += size_t(end - begin);
    return n;
  }

  std::string text_;  // without commas and spaces
  size_t at_ = 0;
  std::vector<std::string> open_{""};  // under construction: the layout, and each group in it
};

}  // namespace

// For an encoder-decoder: the E at the start of the decoder has no information. Returns the text without it.
static std::string without_second_embedding(std::string all) {
  const size_t decoder = all.find('d');
  if (decoder != std::string::npos && decoder > 1 && all[decoder - 1] == 'E') all.erase(decoder - 1, 1);
  return all;
}

std::vector<i64> parse_stage_layout(std::string_view text, DrawnLayers* drawn) {
  const std::string all = without_second_embedding(Unroller(text).run());
  const auto count = [&](char c) { return i64(std::count(all.begin(), all.end(), c)); };
  check(all.starts_with('E') && count('E') == 1, "{} '{}': one E (embedding) is wanted, at its beginning", kFlag, text);
  check(all.back() == 'L' && count('L') == 1, "{} '{}': one L (head and loss) is wanted, at its end", kFlag, text);
  const size_t modules = size_t(count('m'));
  check(all.substr(all.size() - 1 - modules, modules) == std::string(modules, 'm'),
        "{} '{}': m (multi-token prediction) is built in the last stage only: draw it right before L", kFlag, text);
  check(count('t') == 0 || count('e') + count('d') == 0, "{} '{}': draw either t, or e and d", kFlag, text);
  check(count('e') + count('d') == 0 || (count('e') > 0 && count('d') > 0 && all.rfind('e') < all.find('d')),
        "{} '{}': e (layers of the encoder) are wanted before d (the decoder's), one or more of each", kFlag, text);
  if (drawn) *drawn = {count('t') + count('e'), count('d'), i64(modules)};
  std::vector<i64> layers{0};
  for (const char c : all) {
    if (c == '|') layers.push_back(0);
    if (c == 't' || c == 'e' || c == 'd') ++layers.back();
  }
  return layers;
}

static void check_layers(std::string_view text, const DrawnLayers& drawn, const DrawnLayers& model) {
  if (drawn.decoder > 0) {
    check(model.decoder > 0, "{} '{}': e and d are of an encoder-decoder: draw t", kFlag, text);
    check(drawn.layers == model.layers && drawn.decoder == model.decoder,
          "{} '{}' has {} layers of the encoder (e) and {} of the decoder (d), the model {} and {}: they must agree",
          kFlag, text, drawn.layers, drawn.decoder, model.layers, model.decoder);
    return;
  }
  check(drawn.layers == model.layers + model.decoder, "{} '{}' has {} layers (t), {} {}: they must agree", kFlag, text,
        drawn.layers, model.decoder > 0 ? "the encoder and the decoder have" : "--num-layers is",
        model.layers + model.decoder);
}

std::vector<i64> stages_of_layout(std::string_view text, const DrawnLayers& model, i64 ranks) {
  DrawnLayers drawn;
  std::vector<i64> out = parse_stage_layout(text, &drawn);
  check(drawn.modules == 0 || drawn.modules == model.modules,
        "{} '{}' has {} modules of multi-token prediction (m), --mtp-num-layers is {}: they must agree", kFlag, text,
        drawn.modules, model.modules);
  const i64 stages = i64(out.size());
  check(stages % ranks == 0,
        "{} '{}' has {} stages, which do not divide by --pipeline-model-parallel-size {}: draw a multiple", kFlag, text,
        stages, ranks);
  check_layers(text, drawn, model);
  for (i64 r = 1; r + 1 < ranks; ++r) {
    i64 held = 0;
    for (i64 v = r; v < stages; v += ranks) held += out[size_t(v)];
    check(held > 0, "{} '{}': pipeline rank {} would have no layer: add a t to one of its stages", kFlag, text, r);
  }
  return out;
}

}  // namespace megalith
