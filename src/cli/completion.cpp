// Scripts that complete megalith's command lines. They come from the commands' lists of flags.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/own_flags.h"

namespace megalith {
namespace {

enum class Shell { bash, zsh };

struct CompletionFlags {
  Shell shell = Shell::bash;
};

void list_fields(CompletionFlags& c, config::FieldList& f) {
  f.group("Completion");
  f.add("shell", c.shell, {"bash", "zsh"}, "The shell; the flag's name is optional.").also_bare();
}

struct Words {
  std::vector<std::string> commands;  // name:what
  std::map<std::string, std::vector<std::string>>
      flags;                          // by command, without the flags that all training commands share
  std::vector<std::string> training;  // the flags of the training commands
  std::set<std::string> trains;       // the training commands, and `plan`
  std::map<std::string, std::set<std::string>> choices;  // by flag, of all commands
};

Words all_words() {
  Words out;
  std::set<std::string> training;
  for (const CommandEntry& entry : all_commands()) {
    const std::string name(entry.name);
    out.commands.push_back(fmt::format("{}:{}", name, entry.what));
    if (name == "completion") continue;  // itself: its flags are constants
    std::vector<std::string> flags;
    for (const HelpFlag& flag : flags_of(entry)) {
      flags.push_back(flag.flag);
      for (const std::string& choice : flag.choices()) out.choices[flag.flag].insert(choice);
    }
    if (name == "pretrain-gpt") out.training = flags, training = {flags.begin(), flags.end()};
    const size_t shared = size_t(std::ranges::count_if(flags, [&](const auto& f) { return training.contains(f); }));
    if (shared == training.size()) {
      out.trains.insert(name);
      std::erase_if(flags, [&](const std::string& f) { return training.contains(f); });
    }
    out.flags[name] = flags;
  }
  out.flags["completion"] = {"--shell"}, out.choices["--shell"] = {"bash", "zsh"};
  return out;
}

// `indent` NAME) variable=(...) ;;
std::string cases(const Words& words, const char* training) {
  std::string out;
  for (const auto& [name, flags] : words.flags)
    out += fmt::format("    {}) flags=({}{}) ;;\n", name, words.trains.contains(name) ? training : "",
                       fmt::join(flags, " "));
  return out;
}

std::string choice_cases(const Words& words) {
  std::string out;
  for (const auto& [flag, choices] : words.choices)
    out += fmt::format("    {}) values=({}) ;;\n", flag, fmt::join(choices, " "));
  return out;
}

constexpr std::string_view kBash =
    R"SH(# Completes the command lines of megalith in bash: eval "$(megalith completion bash)"
_megalith() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags=() values=()
  local training=(@TRAINING@)
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "@COMMANDS@ --help --version" -- "$current"))
    return
  fi
  case ${COMP_WORDS[1]} in
@FLAGS@  esac
  case $before in
@CHOICES@  esac
  if [ ${#values[@]} -gt 0 ]; then
    COMPREPLY=($(compgen -W "${values[*]}" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "${flags[*]} --help" -- "$current"))
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _megalith megalith)SH";

constexpr std::string_view kZsh = R"SH(#compdef megalith
# Completes the command lines of megalith in zsh: a file _megalith of a folder of fpath.
_megalith() {
  local -a training flags values commands
  training=(@TRAINING@)
  commands=(@COMMANDS@)
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
@FLAGS@  esac
  case $words[CURRENT-1] in
@CHOICES@  esac
  if (( $#values )); then
    compadd -a values
  elif [[ $PREFIX == -* ]]; then
    compadd -a flags
  else
    _files
  fi
}
if [ "$funcstack[1]" = _megalith ]; then _megalith "$@"; else compdef _megalith megalith; fi)SH";

std::string filled(std::string_view script, const Words& words, const std::string& commands, const char* training) {
  std::string out(script);
  const std::pair<const char*, std::string> places[] = {
      {"@TRAINING@", fmt::format("{}", fmt::join(words.training, " "))},
      {"@COMMANDS@", commands},
      {"@FLAGS@", cases(words, training)},
      {"@CHOICES@", choice_cases(words)}};
  for (const auto& [name, text] : places) out.replace(out.find(name), std::string_view(name).size(), text);
  return out;
}

std::string bash_script(const Words& words) {
  std::vector<std::string> names;
  for (const std::string& command : words.commands) names.push_back(command.substr(0, command.find(':')));
  return filled(kBash, words, fmt::format("{}", fmt::join(names, " ")), "\"${training[@]}\" ");
}

std::string zsh_script(const Words& words) {
  std::vector<std::string> described;
  for (const std::string& command : words.commands) described.push_back("'" + command + "'");
  return filled(kZsh, words, fmt::format("{}", fmt::join(described, " ")), "$training ");
}

}  // namespace

int command_completion(int argc, const char* const* argv) {
  CompletionFlags c;
  if (!read_flags(c, argc, argv)) return 0;
  const Words words = all_words();
  log::say("{}", c.shell == Shell::bash ? bash_script(words) : zsh_script(words));
  return 0;
}

}  // namespace megalith
