#include "comm/snapshot_fds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/parse_count.h"

namespace megalith {
namespace {

[[noreturn]] void fail_form(std::string_view whole) {
  fail("MEGALITH_SNAPSHOT_FDS is {}: only `megalith launch` sets it", whole);
}

i64 number_in(std::string_view text, std::string_view whole) {
  const auto n = parse_count(text);
  if (!n || *n >= i64{1} << 30) fail_form(whole);
  return *n;
}

// The part before `end`, which is taken off.
std::string_view cut(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

// "NUMBER:FD,FD,...". An even number of descriptors.
i64 read_list(std::string_view text, std::string_view whole, std::vector<int>& fds) {
  const i64 number = number_in(cut(text, ':'), whole);
  while (!text.empty()) fds.push_back(int(number_in(cut(text, ','), whole)));
  if (fds.size() % kSnapshotSlots != 0) fail_form(whole);
  return number;
}

}  // namespace

SnapshotFds SnapshotFds::from(const Environment& env) {
  SnapshotFds s;
  const char* text = env("MEGALITH_SNAPSHOT_FDS");
  if (!text) return s;
  const std::string_view whole = text;
  std::string_view rest = whole;
  s.steps = read_list(cut(rest, ';'), whole, s.fds);
  if (rest.empty()) return s;
  s.replicas = int(read_list(cut(rest, ';'), whole, s.copies));
  s.server.port = int(number_in(cut(rest, ':'), whole));
  s.server.token = rest;
  return s;
}

std::string SnapshotFds::text() const {
  const std::string own = fmt::format("{}:{}", steps, fmt::join(fds, ","));
  if (server.port == 0) return own;
  return fmt::format("{};{}:{};{}:{}", own, replicas, fmt::join(copies, ","), server.port, server.token);
}

}  // namespace megalith
