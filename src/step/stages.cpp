#include "step/stages.h"

#include <fmt/format.h>

#include <algorithm>

namespace megalith {

namespace {

// Those of every number of micro-batches that steps have.
std::map<int, TaskList> tasks_of(const PipelineSpec& p) {
  std::map<int, TaskList> out;
  ScheduleSpec spec = p.schedule;
  out[spec.micro_batches] = schedule(spec, p.stage);
  for (const int n : p.micro_batches) spec.micro_batches = n, out[n] = schedule(spec, p.stage);
  return out;
}

// A piece's micro-batches begin and end in turn. So slots that suffice for a number of micro-batches suffice for a
// smaller number.
int most_slots(const std::map<int, TaskList>& tasks, int chunk) {
  int most = 1;
  for (const auto& [n, list] : tasks) most = std::max(most, slots(list, chunk));
  return most;
}

}  // namespace

PipelineStage stage_of(const PipelineSpec& p) {
  PipelineStage out{p, tasks_of(p), {}};
  const int stages = int(p.blocks.size());
  int begin = 0;
  for (int v = 0; v < stages; ++v) {
    const int end = begin + int(p.blocks[size_t(v)]);
    if (v % p.schedule.stages == p.stage) {
      const int chunk = int(out.pieces.size());
      const std::string suffix = chunk ? fmt::format("/{}", chunk) : "";
      out.pieces.push_back({{begin, end, suffix}, v > 0, v + 1 < stages, most_slots(out.tasks, chunk)});
    }
    begin = end;
  }
  return out;
}

std::vector<std::string> messages(const std::string& way, int count, const ModelPiece& piece) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(message_name(way, size_t(i)) + piece.suffix);
  return out;
}

std::vector<int> stages_of(const PipelineSpec& p, const std::vector<int>& blocks) {
  std::set<int> out;
  i64 end = 0;
  for (size_t v = 0; v < p.blocks.size(); ++v) {
    const i64 begin = end;
    end += p.blocks[v];
    if (ModelPiece{int(begin), int(end)}.holds(blocks)) out.insert(int(v) % p.schedule.stages);
  }
  return out.size() > 1 ? std::vector<int>(out.begin(), out.end()) : std::vector<int>{};
}

}  // namespace megalith
