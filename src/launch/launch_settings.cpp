#include "launch/launch_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/log.h"
#include "config/parse.h"
#include "config/show.h"

namespace megalith::launch {
namespace {

using Takes = config::OtherFlag::Takes;

constexpr const char* kElastic = "give the fewest nodes or ranks by --nnodes MIN:MAX or --min-ranks N";
constexpr const char* kReplicas = "give the number of copies on other nodes by --snapshot-replicas N";
constexpr const char* kNoService = "the agent of node 0 is the only rendezvous";

const std::vector<config::OtherFlag>& others() {
  static const std::vector<config::OtherFlag> flags = {
      {.flag = "--elastic", .takes = Takes::one, .why = kElastic, .neutral = {"off"}},
      {.flag = "--wait-for-spare-seconds",
       .takes = Takes::one,
       .why =
           "a spare node that is there takes over at once, and one that comes later is waited for as a lost node is"},
      {.flag = "--snapshot-replicate", .why = kReplicas},
      {.flag = "--module", .why = "the ranks are commands of this program: give one, such as pretrain-gpt"},
      {.flag = "-m", .why = "the ranks are commands of this program: give one, such as pretrain-gpt"},
      {.flag = "--no-python", .accepted = true, .why = "there is no Python here"},
      {.flag = "--rdzv-backend", .accepted = true, .takes = Takes::one, .why = kNoService},
      {.flag = "--rdzv-conf", .accepted = true, .takes = Takes::one, .why = kNoService},
      {.flag = "--monitor-interval",
       .accepted = true,
       .takes = Takes::one,
       .why = "the agent notices an exit immediately"},
      {.flag = "--start-method", .accepted = true, .takes = Takes::one, .why = "ranks are processes of this program"},
      {.flag = "--role", .accepted = true, .takes = Takes::one, .why = "all ranks have the same role"},
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
  s.hang_limit();
  check(s.snapshot_steps >= 0, "--snapshot-steps {}: want 0 or more", s.snapshot_steps);
  check(s.snapshot_replicas >= 0, "--snapshot-replicas {}: want 0 or more", s.snapshot_replicas);
  check(s.snapshot_replicas == 0 || s.snapshot_steps > 0,
        "--snapshot-replicas {} copies snapshots, and there are none: give --snapshot-steps", s.snapshot_replicas);
  check(s.spares >= 0, "--spares {}: want 0 or more", s.spares);
  check(s.spares == 0 || (s.min_ranks == 0 && s.nnodes.find(':') == std::string::npos),
        "--spares {}: with --nnodes MIN:MAX or --min-ranks all nodes that are there work: leave one of them out",
        s.spares);
  check(s.min_ranks >= 0, "--min-ranks {}: want 0 or more", s.min_ranks);
  check(s.node_wait_seconds >= 0, "--node-wait-seconds {}: want 0 or more", s.node_wait_seconds);
  check_streams("--tee", s.tee);
  check_streams("--redirects", s.redirects);
  check(s.redirects == "0" || !s.log_dir.empty(), "--redirects {} needs --log-dir, the directory of the files",
        s.redirects);
  check(!s.run_id.empty() && s.run_id.find('/') == std::string::npos && s.run_id != "." && s.run_id != "..",
        "--run-id '{}' is not a directory name: give a word without '/'", s.run_id);
  check(!s.command.empty(), "no command for the ranks: give one after the flags, such as -- pretrain-gpt ...");
  check(!s.standby || s.command[0].starts_with("pretrain-"),
        "--standby: the command {} has no iterations: leave the flag out", s.command[0]);
  check(!s.standby || (s.min_ranks == 0 && s.nnodes.find(':') == std::string::npos),
        "--standby is not built for a changing number of ranks: leave out --min-ranks, and MIN: of --nnodes");
  check(s.elastic_layouts.empty() || s.min_ranks > 0 || s.nnodes.find(':') != std::string::npos,
        "--elastic-layouts {} is for fewer ranks: add --min-ranks N, or give --nnodes MIN:MAX", s.elastic_layouts);
  check(s.command[0] != "launch", "the command of the ranks is launch: give a training command, such as pretrain-gpt");
}

}  // namespace

bool Settings::tees(int stream) const { return has_stream(tee, stream); }
bool Settings::redirects_to_file(int stream) const { return has_stream(redirects, stream); }

double Settings::hang_limit() const {
  if (hang_seconds.empty() || learns_hang()) return 0;
  double seconds = -1;
  const char* end = hang_seconds.data() + hang_seconds.size();
  const auto read = std::from_chars(hang_seconds.data(), end, seconds);
  check(read.ec == std::errc{} && read.ptr == end && seconds >= 0 && std::isfinite(seconds),
        "--hang-seconds {}: want a number of seconds, 0 or more, or auto", hang_seconds);
  return seconds;
}

static void list_launch(Settings& s, config::FieldList& f) {
  f.group("Launch");
  f.add("nnodes", s.nnodes,
        "Number of nodes. Each runs one `megalith launch`. With MIN:MAX the run continues with fewer nodes when some "
        "are lost, and adds nodes that come back. Default: from Slurm or Kubernetes, or 1.")
      .shown_as("N|MIN:MAX");
  f.add("nproc-per-node", s.nproc_per_node,
        "Ranks of this node: a number, gpu (one per GPU), cpu (one per core), or auto: one per GPU, or 1 without GPUs.")
      .shown_as("N|auto|gpu|cpu");
  f.add("node-rank", s.node_rank, "Index of this node, from 0. Default: from Slurm or Kubernetes.").shown_as("R");
  f.add("standalone", s.standalone, "Run on one node and ignore the scheduler's variables.");
  f.add("rdzv-endpoint", s.rdzv_endpoint, "Address of node 0. The default port is 29400.").shown_as("HOST:PORT");
  f.add("master-addr", s.master_addr, "Host of --rdzv-endpoint.").shown_as("HOST");
  f.add("master-port", s.master_port, "Port of --rdzv-endpoint.").shown_as("PORT");
  f.add("run-id", s.run_id, "Name of the run. It is part of the log paths. Node 0 refuses nodes with another name.")
      .shown_as("ID")
      .also("--rdzv-id");
}

static void list_restarts(Settings& s, config::FieldList& f) {
  f.group("Restarts");
  f.add("max-restarts", s.max_restarts,
        "Restarts within --restart-window-minutes. If more are needed, the launch ends.");
  f.add("restart-window-minutes", s.restart_window_minutes, "Length of the window in which --max-restarts counts.");
  f.add("min-progress-steps", s.min_progress_steps,
        "New iterations that each start must complete. Three starts in a row with fewer end the launch with exit code "
        "93.");
  f.add(
       "hang-seconds", s.hang_seconds,
       "Restart if no rank makes progress for this time after the first step. Choose more than an evaluation, a save "
       "and one step take together. auto: five times the longest gap of the last 32 steps, at least 2 and at least the "
       "time of the last start; evaluations, saves and starts count apart. 0: only --distributed-timeout-minutes ends "
       "a hang. Default: auto with --snapshot-steps, otherwise 0.")
      .shown_as("S|auto");
  f.add("min-ranks", s.min_ranks,
        "Fewest ranks with which the run continues when a device or a node is lost. The global batch size stays the "
        "same. 0: the ranks of the fewest nodes that --nnodes allows.");
  f.add("spares", s.spares,
        "So many of the nodes have no ranks. If a node is lost, one of them takes its place at once. 0: none.")
      .shown_as("N");
  f.add("elastic-layouts", s.elastic_layouts,
        "Layouts for fewer ranks than the command's layout needs. auto: smaller tensor-, pipeline-, context- and "
        "expert-parallel sizes, the largest first. FILE: each line has the flags of a layout, the preferred one first.")
      .shown_as("FILE|auto");
  f.add("node-wait-seconds", s.node_wait_seconds,
        "Wait this long for a lost node before the run continues with fewer nodes.");
  f.add("standby", s.standby,
        "Keep a second set of ranks ready on one node. They take over when a rank fails, so a restart takes a fraction "
        "of the time. They use some memory of each GPU; the plan counts it.");
  f.add("snapshot-steps", s.snapshot_steps,
        "Iterations between snapshots of the ranks' state in the agent's host memory. They take twice the state's "
        "size. 0: no snapshots.")
      .shown_as("K");
  f.add("snapshot-replicas", s.snapshot_replicas,
        "The next N nodes hold a copy of each snapshot, so a run resumes from memory when a node is lost. 0: none.")
      .shown_as("N");
}

void list_fields(Settings& s, config::FieldList& f) {
  list_launch(s, f);
  list_restarts(s, f);
  f.group("Output");
  f.add("log-dir", s.log_dir,
        "Write each rank's output also to files: DIR/RUN_ID/attempt_N/RANK/stdout.log and stderr.log.")
      .shown_as("DIR");
  f.add("redirects", s.redirects, "Streams that go to files only: 0 none, 1 stdout, 2 stderr, 3 or all: both.")
      .shown_as("0|1|2|3|all")
      .also("-r");
  f.add("tee", s.tee,
        "Streams whose lines the console shows with a rank prefix: 0 none, 1 stdout, 2 stderr, 3 or all: both.")
      .shown_as("0|1|2|3|all")
      .also("-t");
}

Settings read_settings(const std::vector<std::string>& words) {
  Settings s;
  s.words = words;
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
