#include "launch/messages.h"

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace megalith::launch {
namespace {

using nlohmann::json;

json parsed(const std::string& text) {
  json j = json::parse(text, nullptr, false);
  check(j.is_object(), "another agent of this launch sent an unknown message: run the same program on every node");
  return j;
}

template <class Kind>
Kind kind_of(const json& j, int last) {
  const int kind = j.at("kind");
  check(kind >= 0 && kind <= last, "message {}: run the same program on every node", kind);
  return Kind(kind);
}

// Gives the same error for a missing member and for a member of a wrong type.
template <class F>
auto read_message(F&& f) {
  try {
    return f();
  } catch (const json::exception& e) {
    fail("a message of this launch is incomplete ({}): run the same program on every node", e.what());
  }
}

// A rank's line may contain any bytes, so invalid UTF-8 is replaced.
std::string dumped(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::string text_of(const Report& r) {
  json j{{"kind", int(r.kind)}, {"generation", r.generation}};
  if (r.kind == Report::Kind::hello)
    j.update({{"run_id", r.run_id},
              {"host", r.host},
              {"ranks", r.ranks},
              {"snapshot_steps", r.snapshot_steps},
              {"runs", r.runs ? text_of(*r.runs) : ""}});
  if (r.kind == Report::Kind::told) j["signal"] = r.signal;
  if (r.kind == Report::Kind::silent) j["rank"] = r.silent_rank;
  if (r.kind == Report::Kind::progress) j.update({{"iteration", r.iteration}, {"phase", int(r.phase)}});
  if (r.kind == Report::Kind::exited)
    j["exit"] = {{"rank", r.exit.rank},
                 {"code", r.exit.code},
                 {"signal", r.exit.signal},
                 {"brought_down", r.exit.is_brought_down},
                 {"stood_by", r.exit.has_stood_by},
                 {"out_of_memory", r.exit.is_out_of_memory},
                 {"pid", r.exit.pid},
                 {"iteration", r.exit.iteration},
                 {"host", r.exit.host},
                 {"last_line", r.exit.last_line}};
  return dumped(j);
}

Report report_from(const std::string& text) {
  const json j = parsed(text);
  return read_message([&] {
    Report r{.kind = kind_of<Report::Kind>(j, int(Report::Kind::silent)), .generation = j.at("generation")};
    if (r.kind == Report::Kind::hello) {
      r.run_id = j.at("run_id");
      r.host = j.at("host");
      r.ranks = j.at("ranks");
      r.snapshot_steps = j.at("snapshot_steps");
      if (const std::string runs = j.at("runs"); !runs.empty()) r.runs = order_from(runs);
    }
    if (r.kind == Report::Kind::progress) {
      r.iteration = j.at("iteration");
      const int phase = j.at("phase");
      check(phase >= 0 && phase <= int(Phase::saving), "phase {}: run the same program on every node", phase);
      r.phase = Phase(phase);
    }
    if (r.kind == Report::Kind::told) r.signal = j.at("signal");
    if (r.kind == Report::Kind::silent) r.silent_rank = j.at("rank");
    if (r.kind == Report::Kind::exited) {
      const json& e = j.at("exit");
      r.exit = {.rank = e.at("rank"),
                .code = e.at("code"),
                .signal = e.at("signal"),
                .is_brought_down = e.at("brought_down"),
                .has_stood_by = e.at("stood_by"),
                .is_out_of_memory = e.at("out_of_memory"),
                .pid = e.at("pid"),
                .iteration = e.at("iteration"),
                .host = e.at("host"),
                .last_line = e.at("last_line")};
    }
    return r;
  });
}

std::string text_of(const Order& o) {
  json j{{"kind", int(o.kind)}, {"generation", o.generation}};
  if (o.kind == Order::Kind::start)
    j.update({{"first_rank", o.first_rank},
              {"ranks", o.ranks},
              {"world", o.world},
              {"layout", o.layout},
              {"master_address", o.master_address},
              {"master_port", o.master_port},
              {"past", {o.past.furthest, o.past.begin, o.past.restarts, o.past.without_progress}}});
  if (o.kind == Order::Kind::stop) j.update({{"grace", o.grace}, {"hang", o.is_hang}, {"leaves", o.leaves}});
  if (o.kind == Order::Kind::finish) j.update({{"code", o.code}, {"why", o.why}});
  return dumped(j);
}

Order order_from(const std::string& text) {
  const json j = parsed(text);
  return read_message([&] {
    Order o{.kind = kind_of<Order::Kind>(j, int(Order::Kind::finish)), .generation = j.at("generation")};
    if (o.kind == Order::Kind::start) {
      o.first_rank = j.at("first_rank");
      o.ranks = j.at("ranks");
      o.world = j.at("world");
      o.layout = j.at("layout");
      o.master_address = j.at("master_address");
      o.master_port = j.at("master_port");
      const json& past = j.at("past");
      o.past = {past.at(0), past.at(1), past.at(2), past.at(3)};
    }
    if (o.kind == Order::Kind::stop) {
      o.grace = j.at("grace");
      o.is_hang = j.at("hang");
      o.leaves = j.at("leaves");
    }
    if (o.kind == Order::Kind::finish) o.code = j.at("code"), o.why = j.at("why");
    return o;
  });
}

}  // namespace megalith::launch
