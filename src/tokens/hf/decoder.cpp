#include "tokens/hf/decoder.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/byte_alphabet.h"
#include "tokens/hf/regex.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

using Tokens = std::vector<std::string>;

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  if (what.empty()) return;
  size_t at = text.find(what);
  if (at == std::string::npos) return;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(what, done)) {
    out.append(text, done, at - done).append(with);
    done = at + what.size();
  }
  text = out.append(text, done);
}

void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [what, with] : kRules) replace_all(text, what, with);
}

void fuse(Tokens& tokens) {
  std::string all;
  for (const std::string& t : tokens) all += t;
  tokens = {all};
}

void byte_level(Tokens& tokens) {
  for (std::string& t : tokens) t = bytes_of_token(t);
  fuse(tokens);
}

int byte_of(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (char c : {token[3], token[4]}) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// A run of byte tokens is text if it is valid UTF-8. Otherwise each token becomes a U+FFFD.
void byte_fallback(Tokens& tokens) {
  Tokens out;
  std::string run;
  const auto end_run = [&] {
    if (run.empty()) return;
    if (replace_invalid_utf8(run) == run) {
      out.push_back(run);
    } else {
      out.insert(out.end(), run.size(), "\uFFFD");
    }
    run.clear();
  };
  for (std::string& t : tokens) {
    const int byte = byte_of(t);
    if (byte >= 0) {
      run += char(byte);
    } else {
      end_run();
      out.push_back(std::move(t));
    }
  }
  end_run();
  tokens = std::move(out);
}

void metaspace(const Json& spec, Tokens& tokens, std::string_view where) {
  const std::string mark = spec.text("replacement", "\u2581", where);
  const bool old = spec.flag("add_prefix_space", true, where);
  const bool drops = spec.text("prepend_scheme", old ? "always" : "never", where) != "never";
  for (size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], mark, i == 0 && drops ? "" : " ");
}

void word_piece(const Json& spec, Tokens& tokens, std::string_view where) {
  const std::string prefix = spec.text("prefix", "##", where);
  const bool cleans = spec.flag("cleanup", true, where);
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string& t = tokens[i];
    if (i > 0) t.starts_with(prefix) ? t.erase(0, prefix.size()) : t.insert(0, 1, ' ');
    if (cleans) clean_up(t);
  }
}

void strip(const Json& spec, Tokens& tokens, std::string_view where) {
  const std::string content = spec.text("content", " ", where);
  check(!content.empty(), "{}: the decoder Strip needs a content", where);
  const i64 start = spec.whole("start", 0, where), stop = spec.whole("stop", 0, where);
  for (std::string& t : tokens) {
    std::string_view rest = t;
    for (i64 i = 0; i < start && rest.starts_with(content); ++i) rest.remove_prefix(content.size());
    for (i64 i = 0; i < stop && rest.ends_with(content); ++i) rest.remove_suffix(content.size());
    t = std::string(rest);
  }
}

void replace(const Json& spec, Tokens& tokens, std::string_view where) {
  const Json* pattern = spec.find("pattern");
  const Json* text = pattern ? pattern->find("String") : nullptr;
  const Json* regex = pattern ? pattern->find("Regex") : nullptr;
  const std::string with = spec.text("content", "", where);
  if (text && text->is_string()) {
    for (std::string& t : tokens) replace_all(t, text->string, with);
    return;
  }
  check(regex && regex->is_string(), "{}: the decoder Replace needs a pattern", where);
  Regex r(regex->string, where);
  std::vector<Span> found;
  for (std::string& t : tokens) {
    r.find_all(t, found);
    for (size_t i = found.size(); i-- > 0;) t.replace(found[i].begin, found[i].end - found[i].begin, with);
  }
}

void bpe(const Json& spec, Tokens& tokens, std::string_view where) {
  const std::string suffix = spec.text("suffix", "</w>", where);
  for (size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
}

void ctc(const Json& spec, Tokens& tokens, std::string_view where) {
  const std::string pad = spec.text("pad_token", "<pad>", where), word = spec.text("word_delimiter_token", "|", where);
  const bool cleans = spec.flag("cleanup", true, where);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (std::string& t : tokens) {
    replace_all(t, pad, "");
    if (!cleans) continue;
    clean_up(t);
    replace_all(t, word, " ");
  }
  std::erase_if(tokens, [](const std::string& t) { return t.empty(); });
}

}  // namespace

void decode_tokens(const Json& spec, Tokens& tokens, std::string_view where) {
  if (spec.is_null()) {
    for (size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, 1, ' ');
    return;
  }
  const std::string type = spec.type(where);
  if (type == "Sequence") {
    for (const Json& item : spec.list("decoders", where)) decode_tokens(item, tokens, where);
  } else if (type == "ByteLevel") {
    byte_level(tokens);
  } else if (type == "ByteFallback") {
    byte_fallback(tokens);
  } else if (type == "Fuse") {
    fuse(tokens);
  } else if (type == "Metaspace") {
    metaspace(spec, tokens, where);
  } else if (type == "WordPiece") {
    word_piece(spec, tokens, where);
  } else if (type == "Strip") {
    strip(spec, tokens, where);
  } else if (type == "Replace") {
    replace(spec, tokens, where);
  } else if (type == "BPEDecoder") {
    bpe(spec, tokens, where);
  } else if (type == "CTC") {
    ctc(spec, tokens, where);
  } else {
    fail("{}: the decoder {} is not supported", where, type);
  }
}

}  // namespace megalith::hf
