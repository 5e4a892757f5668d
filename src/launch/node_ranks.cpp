#include "launch/node_ranks.h"

#include <fmt/ranges.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/control_group.h"
#include "launch/cause.h"

namespace megalith::launch {

NodeRanks::NodeRanks(const Settings& settings, const NodePlace& place, std::string host)
    : settings_(settings),
      devices_(place.ranks),
      host_(std::move(host)),
      snapshots_(settings.snapshot_steps, place.ranks),
      wants_standby_(settings.standby) {
  if (settings.snapshot_steps > 0 && place.nodes > 1)
    server_.emplace(is_loopback(place.host) ? place.host : "", snapshots_);
}

NodeRanks::~NodeRanks() {
  kill_all();
  for (Rank& r : running_) waitpid(r.child.pid, nullptr, 0);
  for (const pid_t pid : leaving_) waitpid(pid, nullptr, 0);
}

void NodeRanks::start(const Order& order) {
  for (Rank& r : running_) bring_down(r);
  for (Rank& r : running_) waitpid(r.child.pid, nullptr, 0);
  running_.clear();
  order_ = order;
  generation_ = order.generation;
  told_iteration_ = -1;
  memory_kills_ = out_of_memory_kills();
  kill_unjoined_.reset();
  kill_all_.reset();
  has_standby_failed_ = false;
  if (take_over(order)) return;
  devices_.begin();
  for (int r = 0; r < order.ranks; ++r) running_.push_back(start_rank(order, r, false));
}

SnapshotFds NodeRanks::lent_memory() const {
  SnapshotFds lent = snapshots_.lent();
  if (!server_) return lent;
  lent.replicas = int(settings_.snapshot_replicas);
  lent.server = server_->key();
  return lent;
}

OutputWays NodeRanks::ways(int stream, const Order& order, int rank) const {
  OutputWays w{.to_console = settings_.tees(stream) || !settings_.redirects_to_file(stream)};
  if (settings_.tees(stream)) w.prefix = fmt::format("[rank{}]: ", rank);
  if (!settings_.log_dir.empty())
    w.file = fmt::format("{}/{}/attempt_{}/{}/{}.log", settings_.log_dir, settings_.run_id, order.generation - 1, rank,
                         stream == STDOUT_FILENO ? "stdout" : "stderr");
  return w;
}

NodeRanks::Rank NodeRanks::start_rank(const Order& order, int local_rank, bool stands_by) const {
  const int rank = order.first_rank + local_rank;
  // The output of standby ranks is read after they take over.
  const OutputWays out = stands_by ? OutputWays{.to_console = false} : ways(STDOUT_FILENO, order, rank),
                   err = stands_by ? out : ways(STDERR_FILENO, order, rank);
  const SnapshotFds lent = lent_memory();
  ChildCommand command{.words = settings_.command,
                       .variables = {},
                       .lent = lent.fds,
                       .pipes_out = stands_by || settings_.tees(STDOUT_FILENO) || !out.file.empty()};
  command.lent.insert(command.lent.end(), lent.copies.begin(), lent.copies.end());
  std::istringstream layout(order.layout);
  for (std::string word; layout >> word;) command.words.push_back(word);
  const bool is_own = command.words[0].find('/') == std::string::npos;
  if (is_own) command.words.insert(command.words.begin(), "megalith");
  const auto set = [&](const char* name, const auto& value) {
    command.variables.push_back({name, fmt::format("{}", value)});
  };
  set("RANK", rank);
  set("WORLD_SIZE", order.world);
  set("LOCAL_RANK", local_rank);
  set("LOCAL_WORLD_SIZE", order.ranks);
  // The driver starts faster if it sees one device only. Commands of other programs may need to see all.
  const std::string own = is_own ? devices_.own(local_rank, order.ranks) : "", visible = devices_.visible(order.ranks);
  if (!own.empty()) set("MEGALITH_OWN_DEVICE", own);
  if (!own.empty() || !visible.empty()) set("CUDA_VISIBLE_DEVICES", own.empty() ? visible : own);
  set("MASTER_ADDR", order.master_address);
  set("MASTER_PORT", order.master_port);
  set("MEGALITH_GENERATION", order.generation);
  if (settings_.standby) set("MEGALITH_HAS_STANDBY", 1);
  if (stands_by) set("MEGALITH_STANDBY", 1);
  if (!leaving_.empty()) set("MEGALITH_FORMER_PIDS", fmt::format("{}", fmt::join(leaving_, ",")));
  if (settings_.snapshot_steps > 0) set("MEGALITH_SNAPSHOT_FDS", lent.text());
  return {.rank = rank,
          .local_rank = local_rank,
          .generation = order.generation,
          .child = start_child(command),
          .out = RankOutput(STDOUT_FILENO, out),
          .err = RankOutput(STDERR_FILENO, err),
          .has_stood_by = stands_by};
}

void NodeRanks::read(Rank& r) {
  if (!r.out.read(r.child.out.fd())) r.child.out = Socket();
  if (!r.err.read(r.child.err.fd())) r.child.err = Socket();
  has_moved_ = hear(r) || has_moved_;
}

// Whether the rank has advanced since the last call.
bool NodeRanks::hear(Rank& r) {
  char text[1024];
  bool has_moved = false;
  for (ssize_t n; (n = recv(r.child.line.fd(), text, sizeof text, 0)) > 0;) {
    const std::string_view message(text, size_t(n));
    if (message == "joined") r.has_joined = true;
    if (message == "ready") r.is_ready = true;
    if (message == "settling" || message == "settled") r.is_settling = message == "settling";
    if (message == "kill agent") kill(getpid(), SIGKILL);
    if (message.starts_with("away "))
      r.phase = message == "away saving"       ? Phase::saving
                : message == "away evaluating" ? Phase::evaluating
                                               : Phase::training;
    if (message == "kill controller") r.kills_controller = true;
    if (message.starts_with("silent ")) std::from_chars(text + 7, text + n, r.silent_rank);
    if (message.starts_with("did ")) std::from_chars(text + 4, text + n, r.iteration);
    if (message.starts_with("stack ")) r.stacks.take(message.substr(6));
    if (message.starts_with("at ")) {
      const u64 before = r.words;
      const char* end = std::from_chars(text + 3, text + n, r.words).ptr + 1;
      has_moved = has_moved || r.words != before;
      if (end < text + n) r.at.assign(end, size_t(text + n - end));
    }
  }
  return has_moved;
}

bool NodeRanks::kills_controller() {
  bool kills = false;
  for (Rank& r : running_) kills = std::exchange(r.kills_controller, false) || kills;
  return kills;
}

// A machine with too many processes is no hang, but it must not hide one forever.
bool NodeRanks::waits_for_cores(double now) {
  constexpr double kBefore = 0.4, kLongest = 60;
  const double still = now - moved_at_;
  if ((!settings_.learns_hang() && settings_.hang_limit() == 0) || still < kBefore || still > kLongest) return false;
  std::vector<pid_t> processes;
  for (const Rank& r : running_) processes.push_back(r.child.pid);
  return core_waits_.are_long(processes, now);
}

std::vector<Report> NodeRanks::look() {
  std::vector<Report> reports, ends;
  i64 furthest = -1;
  std::erase_if(leaving_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
  for (Rank& r : running_) {
    read(r);
    furthest = std::max(furthest, r.iteration);
    if (r.silent_rank >= 0)
      reports.push_back(
          {.kind = Report::Kind::silent, .generation = generation_, .silent_rank = std::exchange(r.silent_rank, -1)});
  }
  running_.remove_if([&](Rank& r) {
    const bool ended = has_ended(r, ends);
    furthest = std::max(furthest, r.iteration);
    return ended;
  });
  constexpr double kLongestSettling = 10;
  const double now = steady_seconds();
  Phase phase = Phase::training;
  for (const Rank& r : running_) phase = std::max(phase, r.phase);
  const bool has_moved = furthest > told_iteration_ || std::exchange(has_moved_, false) || phase != phase_;
  if (has_moved) moved_at_ = now, core_waits_.forget();
  if (has_moved || (is_settling() && now - moved_at_ < kLongestSettling) || waits_for_cores(now)) {
    told_iteration_ = std::max(furthest, told_iteration_);
    phase_ = phase;
    reports.push_back(
        {.kind = Report::Kind::progress, .generation = generation_, .iteration = told_iteration_, .phase = phase});
  }
  reports.insert(reports.end(), ends.begin(), ends.end());
  keep_standby();
  return reports;
}

// The teardown of a GPU rank takes seconds after its end. The next ranks start meanwhile.
std::optional<int> NodeRanks::wait_status(const Rank& r) {
  int status = 0;
  if (waitpid(r.child.pid, &status, WNOHANG) == r.child.pid) return status;
  const std::optional<int> ended = settings_.command[0].find('/') == std::string::npos ? end_of(r.child) : std::nullopt;
  if (ended) leaving_.push_back(r.child.pid);
  return ended;
}

bool NodeRanks::has_ended(Rank& r, std::vector<Report>& reports) {
  const std::optional<int> ended = wait_status(r);
  if (!ended) return false;
  const int status = *ended;
  kill_all_of(r.child);  // also kills all that the rank started
  read(r);
  r.out.finish();
  r.err.finish();
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (code == kPersistentDoubt || (code == 1 && r.iteration < 0 && !r.has_stood_by))
    devices_.put_last(r.local_rank), end_standby();
  reports.push_back(
      {.kind = Report::Kind::exited,
       .generation = r.generation,
       .exit = {.rank = r.rank,
                .code = code,
                .signal = signal,
                .is_brought_down = r.is_brought_down && signal == SIGKILL,
                .has_stood_by = r.has_stood_by,
                .is_out_of_memory = signal == SIGKILL && !r.is_brought_down && out_of_memory_kills() > memory_kills_,
                .pid = r.child.pid,
                .iteration = r.iteration,
                .host = host_,
                .last_line = r.err.last_line()}});
  return true;
}

// A rank that has not joined has no watch to stop it, and no report to make.
void NodeRanks::stop(double grace_seconds, double now) {
  constexpr double kUnjoined = 0.2;
  kill_unjoined_ = now + std::min(kUnjoined, grace_seconds);
  kill_all_ = now + grace_seconds;
}

void NodeRanks::move_on(double now) {
  for (Rank& r : running_)
    if ((kill_all_ && now >= *kill_all_) || (kill_unjoined_ && now >= *kill_unjoined_ && !r.has_joined)) bring_down(r);
}

void NodeRanks::bring_down(Rank& r) {
  r.is_brought_down = true;
  kill_all_of(r.child);
}

void NodeRanks::kill_all() {
  end_standby();
  for (Rank& r : running_) bring_down(r);
}

void NodeRanks::tell(int signal) {
  for (Rank& r : running_) tell_child(r.child, signal);
}

// Messages of running ranks need no wake-up: they may be thousands a second.
std::vector<int> NodeRanks::fds() const {
  std::vector<int> all;
  for (const Rank& r : running_)
    for (const Socket* s : {&r.child.out, &r.child.err, r.iteration < 0 ? &r.child.line : &r.child.out})
      if (*s) all.push_back(s->fd());
  return all;
}

}  // namespace megalith::launch
