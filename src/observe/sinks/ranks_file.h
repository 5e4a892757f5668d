// SAVE/ranks.jsonl: the ranks of a run, for its report. Lines are only appended: a resumed run repeats iterations.
//   {"event":"start","time":1764190000.25,"iteration":0,"ranks":[{"rank":0,"host":"n1","stage":0,"bus":"...","gpu":2}]}
//   {"event":"memory","iteration":1,...,"stage":0,"bytes":{"arena":...,"planned":...,"used_peak":...}}   of rank 0
//   {"event":"own_work","iteration":10,...,"own_ms":[80.5,81]}   by rank, of one iteration, with --log-straggler
//   {"event":"end","iteration":12,...,"planned_bytes":[...],"used_bytes":[...]}   by rank, as "used_peak"
// "time" is Unix time, "iteration" the last finished one.
#pragma once
#include <filesystem>
#include <functional>

#include "observe/record.h"

namespace megalith {

class RanksFile final : public Sink {
 public:
  // Creates the file. A failure is a warning, and no line follows. Later lines go only to the existing file: if SAVE
  // was moved or unmounted, nothing is created in its place, and lines are lost until it is back.
  RanksFile(const std::filesystem::path& folder, i64 iteration, std::function<double()> now);

  void take(const Record& record) override { iteration_ = record.iteration; }
  void take_ranks(std::span<const PlaceOfRank> ranks) override;
  void take_own_work(std::span<const OwnWork> ranks) override;
  void take_memory(const MemoryTold& memory) override;  // a line if the peak has grown by 1%
  void take_memory_use(std::span<const MemoryUse> ranks) override;

 private:
  void append(const std::string& line);

  std::filesystem::path path_;
  i64 iteration_;
  std::function<double()> now_;
  bool is_lost_ = false;   // a line could not be written
  double told_bytes_ = 0;  // peak bytes of the last line
};

}  // namespace megalith
