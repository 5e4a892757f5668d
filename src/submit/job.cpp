#include "submit/job.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "base/escape.h"
#include "base/mistakes.h"

namespace megalith {

namespace {

bool is_name(const std::string& text) {
  constexpr size_t kLongest = 50;  // a pod's name has 13 letters more
  return !text.empty() && text.size() <= kLongest && std::islower(static_cast<unsigned char>(text[0])) != 0 &&
         text.back() != '-' &&
         std::ranges::all_of(text, [](char c) { return c == '-' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

bool is_plain(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || std::string("-_./:@+").find(char(c)) != std::string::npos;
  });
}

}  // namespace

JobVolume parse_volume(const std::string& text) {
  const size_t colon = text.find(':');
  const bool whole = colon != std::string::npos && colon > 0 && text.substr(colon + 1).starts_with('/');
  check(whole && is_plain(text), "--volume {}: give CLAIM:/PATH, for example data:/data", escape_controls(text));
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void check_job(const Job& job, bool needs_image) {
  MistakeList wrong;
  constexpr i64 kMostNodes = 100000, kMostGpus = 64;
  wrong.hold(is_name(job.name), "--name {}: small letters, digits and dashes are wanted, 50 at most, a letter first",
             escape_controls(job.name));
  wrong.hold(job.nodes >= 1 && job.nodes <= kMostNodes, "--nodes {}: want 1 to {}", job.nodes, kMostNodes);
  wrong.hold(job.gpus_per_node >= 1 && job.gpus_per_node <= kMostGpus, "--gpus-per-node {}: want 1 to {}",
             job.gpus_per_node, kMostGpus);
  wrong.hold(!job.image.empty() || !needs_image, "--image is required: the container image that has megalith");
  wrong.hold(is_plain(job.image), "--image {}: the name of an image is wanted", escape_controls(job.image));
  wrong.hold(is_plain(job.queue), "--queue {}: the name of a queue is wanted", escape_controls(job.queue));
  const bool time = !job.time.empty() && std::ranges::all_of(job.time, [](unsigned char c) {
    return std::isdigit(c) || c == ':' || c == '-';
  });
  wrong.hold(time, "--time {}: give DAYS-HOURS:MINUTES:SECONDS, for example 24:00:00", escape_controls(job.time));
  wrong.hold(!job.command.empty(),
             "the training command is missing: give it after --, for example `-- pretrain-gpt ...`");
  wrong.hold(job.command.empty() || job.command[0].starts_with("pretrain-"),
             "'{}' is no training command: give one such as pretrain-gpt",
             escape_controls(job.command.empty() ? "" : job.command[0]));
  wrong.done();
}

std::string shell_word(const std::string& word) {
  const bool safe = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) || std::string("-_./:=@,+%").find(char(c)) != std::string::npos;
  });
  if (safe) return word;
  std::string out = "'";
  for (const char c : word)
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  return out + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string yaml_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace megalith
