// The manual page, from the table of commands and their flags.
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace megalith {
namespace {

// Escapes text for troff: dashes, and lines that would be requests.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string lines_of(const std::vector<HelpFlag>& flags) {
  std::string out, group;
  for (const HelpFlag& f : flags) {
    if (f.group != group) out += fmt::format(".PP\n{}:\n", plain(group = f.group));
    out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", plain(f.flag),
                       f.value.empty() ? "" : " \\fI" + plain(f.value) + "\\fR", plain(f.help));
  }
  return out;
}

}  // namespace

int command_manual(int argc, const char* const*) {
  check(argc == 1, "it takes no arguments: it prints the manual page, for `man -l -`");
  std::string page =
      ".TH MEGALITH 1 \"\" \"Megalith\" \"User Commands\"\n.SH NAME\nmegalith \\- pretrains large language models\n"
      ".SH SYNOPSIS\n\\fBmegalith\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n.PP\n\\fBmegalith\\fR \\fICOMMAND\\fR "
      "\\fB\\-\\-help\\fR\n.PP\n\\fBmegalith\\fR \\fB\\-\\-version\\fR\n.SH COMMANDS\n";
  for (const CommandEntry& e : all_commands())
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(e.name), plain(e.what));
  std::set<std::string> training;
  std::vector<HelpFlag> of_training;
  for (const CommandEntry& e : all_commands()) {
    if (e.name == "completion" || e.name == "manual") continue;  // it would call itself
    std::vector<HelpFlag> flags = flags_of(e);
    if (e.name == "pretrain-gpt") {
      of_training = flags;
      for (const HelpFlag& f : flags) training.insert(f.flag);
    }
    const size_t all = flags.size();
    if (e.name != "evaluate") std::erase_if(flags, [&](const HelpFlag& f) { return training.contains(f.flag); });
    const bool trains = all - flags.size() >= training.size();
    if (all == 0) continue;
    page += fmt::format(".SH {}\n{}", plain(e.name), lines_of(flags));
    if (trains) page += ".PP\nAll flags of training, which are below.\n";
  }
  log::say("{}.SH FLAGS OF TRAINING\n{}", page, lines_of(of_training));
  return 0;
}

}  // namespace megalith
