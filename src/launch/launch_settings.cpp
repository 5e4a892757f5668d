#include "launch/launch_settings.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "config/parse.h"
#include "config/show.h"

namespace megalith::launch {
namespace {

using Takes = config::OtherFlag::Takes;

constexpr const char* kElastic = "--nnodes MIN:MAX and --min-ranks N say how few ranks will do";
constexpr const char* kLayouts = "other layouts for fewer ranks are not built: the data-parallel size follows them";
constexpr const char* kReplicas = "snapshots are not copied to other nodes: a lost node's ranks go on from the disk";
constexpr const char* kNoService = "the agent of node 0 decides: there is no other rendezvous";

const std::vector<config::OtherFlag>& others() {
  static const std::vector<config::OtherFlag> flags = {
      {.flag = "--elastic", .takes = Takes::one, .why = kElastic, .neutral = {"off"}},
      {.flag = "--elastic-layouts", .takes = Takes::one, .why = kLayouts},
      {.flag = "--spares", .takes = Takes::one, .why = "spare nodes are not built", .neutral = {"0"}},
      {.flag = "--wait-for-spare-seconds", .takes = Takes::one, .why = "spare nodes are not built"},
      {.flag = "--snapshot-replicas", .takes = Takes::one, .why = kReplicas, .neutral = {"0"}},
      {.flag = "--snapshot-replicate", .why = kReplicas},
      {.flag = "--module", .why = "the ranks are commands of this program: give one, such as pretrain-gpt"},
      {.flag = "-m", .why = "the ranks are commands of this program: give one, such as pretrain-gpt"},
      {.flag = "--no-python", .accepted = true, .why = "there is no Python here"},
      {.flag = "--rdzv-backend", .accepted = true, .takes = Takes::one, .why = kNoService},
      {.flag = "--rdzv-conf", .accepted = true, .takes = Takes::one, .why = kNoService},
      {.flag = "--monitor-interval", .accepted = true, .takes = Takes::one, .why = "an end is noticed at once"},
      {.flag = "--start-method", .accepted = true, .takes = Takes::one, .why = "ranks are programs"},
      {.flag = "--role", .accepted = true, .takes = Takes::one, .why = "there is one role"},
  };
  return flags;
}

// torchrun accepts dashes and underscores.
std::string dashed(std::string word) {
  if (word.starts_with("--"))
    std::replace(word.begin(), word.begin() + std::min(word.find('='), word.size()), '_', '-');
  return word;
}

bool takes_value(const config::FlagIndex& index, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  const config::FlagIndex::Entry* e = index.known(word);
  if (!e) return false;
  return e->other ? e->other->takes != Takes::nothing : !e->spelling->constant && !e->field->is_switch();
}

void check_streams(const char* flag, const std::string& value) {
  check(value == "0" || value == "1" || value == "2" || value == "3" || value == "all",
        "{} {}: give 0 (none), 1 (stdout), 2 (stderr), or 3 or all (both), for all ranks alike", flag, value);
}

bool has_stream(const std::string& value, int stream) {
  return value == "3" || value == "all" || value == std::to_string(stream);
}

void check_values(const Settings& s) {
  check(s.max_restarts >= 0, "--max-restarts {}: want 0 or more", s.max_restarts);
  check(s.restart_window_minutes > 0, "--restart-window-minutes {}: want more than 0", s.restart_window_minutes);
  check(s.min_progress_steps >= 1, "--min-progress-steps {}: want 1 or more", s.min_progress_steps);
  check(s.hang_seconds >= 0, "--hang-seconds {}: want 0 or more", s.hang_seconds);
  check(s.snapshot_steps >= 0, "--snapshot-steps {}: want 0 or more", s.snapshot_steps);
  check(s.min_ranks >= 0, "--min-ranks {}: want 0 or more", s.min_ranks);
  check(s.node_wait_seconds >= 0, "--node-wait-seconds {}: want 0 or more", s.node_wait_seconds);
  check_streams("--tee", s.tee);
  check_streams("--redirects", s.redirects);
  check(s.redirects == "0" || !s.log_dir.empty(), "--redirects {} wants --log-dir: the directory of the files",
        s.redirects);
  check(!s.run_id.empty() && s.run_id.find('/') == std::string::npos && s.run_id != "." && s.run_id != "..",
        "--run-id '{}' is to be the name of a directory: give a word without '/'", s.run_id);
  check(!s.command.empty(), "no command for the ranks: give one behind the flags, such as -- pretrain-gpt ...");
  check(!s.standby || s.command[0].starts_with("pretrain-"),
        "--standby: the command {} has no iterations: leave the flag out", s.command[0]);
  check(!s.standby || (s.min_ranks == 0 && s.nnodes.find(':') == std::string::npos),
        "--standby is not built for worlds of other sizes: leave out --min-ranks, and MIN: of --nnodes");
  check(s.command[0] != "launch",
        "the command of the ranks is launch itself: give one that trains, such as pretrain-gpt");
}

}  // namespace

bool Settings::tees(int stream) const { return has_stream(tee, stream); }
bool Settings::redirects_to_file(int stream) const { return has_stream(redirects, stream); }

void list_fields(Settings& s, config::FieldList& f) {
  f.group("Launch");
  f.add("nnodes", s.nnodes,
        "Nodes, each with one `megalith launch`. MIN:MAX goes on with fewer nodes where some are lost, and takes them "
        "in "
        "when they come. Default: as Slurm or Kubernetes say, or 1.")
      .shown_as("N|MIN:MAX");
  f.add("nproc-per-node", s.nproc_per_node, "Ranks of this node: a number, gpu, cpu (one a core), or auto: GPUs, or 1.")
      .shown_as("N|auto|gpu|cpu");
  f.add("node-rank", s.node_rank, "Which node this is, from 0. Default: as Slurm or Kubernetes say.").shown_as("R");
  f.add("standalone", s.standalone, "One node, whatever the environment says.");
  f.add("rdzv-endpoint", s.rdzv_endpoint, "Where node 0 can be reached. Without a port: 29400.").shown_as("HOST:PORT");
  f.add("master-addr", s.master_addr, "The host of --rdzv-endpoint.").shown_as("HOST");
  f.add("master-port", s.master_port, "The port of --rdzv-endpoint.").shown_as("PORT");
  f.add("run-id", s.run_id, "Name of the run: in the paths of logs; nodes with another one are turned away.")
      .shown_as("ID")
      .also("--rdzv-id");
  f.group("Restarts");
  f.add("max-restarts", s.max_restarts, "So many within the window; then the launch ends.");
  f.add("restart-window-minutes", s.restart_window_minutes, "Restarts of so long ago no longer count.");
  f.add("min-progress-steps", s.min_progress_steps,
        "New iterations that a start must do. Three starts in a row that do fewer end the launch with 93.");
  f.add(
      "hang-seconds", s.hang_seconds,
      "Start again if no rank has moved for so long, once a step is done. Choose more than evaluating, saving and one "
      "step of a single rank take. 0: only --distributed-timeout-minutes ends what hangs.");
  f.add(
      "min-ranks", s.min_ranks,
      "Go on with fewer ranks, at least so many, where a device or a node is lost. The global batch stays. 0: as many "
      "as --nnodes says.");
  f.add("node-wait-seconds", s.node_wait_seconds, "So long a node is waited for before fewer go on without it.");
  f.add("standby", s.standby,
        "Keep a second set of ranks of one node ready, which take over where a rank fails: a start takes a fraction of "
        "the time. They take some memory of each GPU, which plans count.");
  f.add("snapshot-steps", s.snapshot_steps,
        "Ranks keep a snapshot of their state in the agent's memory every so many iterations: twice the state's size. "
        "0: none.")
      .shown_as("K");
  f.group("Output");
  f.add("log-dir", s.log_dir,
        "Each rank's output also goes to files: DIR/RUN_ID/attempt_N/RANK/stdout.log, stderr.log.")
      .shown_as("DIR");
  f.add("redirects", s.redirects, "Output that goes to files only: 0 none, 1 stdout, 2 stderr, 3 or all both.")
      .shown_as("0|1|2|3|all")
      .also("-r");
  f.add("tee", s.tee, "Output that the console shows with each line's rank: 0 none, 1 stdout, 2 stderr, 3 or all both.")
      .shown_as("0|1|2|3|all")
      .also("-t");
}

Settings read_settings(const std::vector<std::string>& words) {
  Settings s;
  config::FieldList fields = config::fields_of(s);
  const config::FlagIndex index(fields, others());
  std::vector<std::string> own;
  size_t i = 0;
  for (; i < words.size() && words[i] != "--" && words[i].starts_with("-"); ++i) {
    own.push_back(dashed(words[i]));
    if (takes_value(index, own.back()) && i + 1 < words.size()) own.push_back(words[++i]);
  }
  if (i < words.size() && words[i] == "--") ++i;
  s.command.assign(words.begin() + std::ptrdiff_t(i), words.end());
  const config::ParseResult r = config::parse(fields, own, others());
  s.help = r.help;
  if (r.help) {
    log::say("usage: megalith launch [flags] [--] COMMAND [flags of the command]\n\n{}", config::help_text(fields));
    return s;
  }
  for (const std::string& note : r.notes) log::info("{}", note);
  for (const std::string& warning : r.warnings) log::warn("{}", warning);
  check_values(s);
  return s;
}

}  // namespace megalith::launch
