// Tests of SAVE/ranks.jsonl, and of the GPU numbers in it.
#include "observe/sinks/ranks_file.h"

#include <gtest/gtest.h>

#include "observe/gpu_signals.h"
#include "tests/harness/thread_ranks.h"
#include "tests/train/files.h"

namespace megalith {
namespace {

double at_noon() { return 1764190000.1234; }

TEST(RanksFile, HasALineForEachThing) {
  const TempFolder folder("ranks_file");
  RanksFile file(folder.path / "save", 5, at_noon);
  const std::vector<PlaceOfRank> places = {{0, "n1", 0, "0000:1b:00.0", 2}, {1, "n\xff", 1}};
  file.take_ranks(places);
  Record record{.iteration = 10};
  file.take(record);
  file.take_own_work(std::vector<OwnWork>{{0, "n1", 0.0805, 1}, {1, "n2", 0.08123456, 1}});
  file.take_memory_use(std::vector<MemoryUse>{{100, 90}, {50, 60}});
  EXPECT_EQ(read_file(folder.path / "save/ranks.jsonl"),
            "{\"event\":\"start\",\"time\":1764190000.123,\"iteration\":5,\"ranks\":[{\"rank\":0,\"host\":\"n1\","
            "\"stage\":0,\"bus\":\"0000:1b:00.0\",\"gpu\":2},{\"rank\":1,\"host\":\"n\xef\xbf\xbd\",\"stage\":1}]}\n"
            "{\"event\":\"own_work\",\"time\":1764190000.123,\"iteration\":10,\"own_ms\":[80.5,81.235]}\n"
            "{\"event\":\"end\",\"time\":1764190000.123,\"iteration\":10,\"planned_bytes\":[100,50],"
            "\"used_bytes\":[90,60]}\n");
}

TEST(RanksFile, TellsMemoryThatGrows) {
  const TempFolder folder("ranks_memory");
  RanksFile file(folder.path, 0, at_noon);
  for (const double peak : {1000., 1005., 1000., 1011., 1011.})
    file.take_memory({.stage = 1, .bytes = {{"arena", 7}, {"used_peak", peak}}});
  const std::string line =
      "{\"event\":\"memory\",\"time\":1764190000.123,\"iteration\":0,\"stage\":1,\"bytes\":{\"arena\":7,";
  EXPECT_EQ(read_file(folder.path / "ranks.jsonl"), line + "\"used_peak\":1000}}\n" + line + "\"used_peak\":1011}}\n");
}

TEST(RanksFile, NoPlaceForItEndsNoRun) {
  const TempFolder folder("ranks_none");
  write_file(folder.path / "file", "");
  testing::internal::CaptureStderr();
  RanksFile file(folder.path / "file", 0, at_noon);
  file.take_ranks({});
  file.take_memory_use({});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the run's report will lack its ranks"), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << "once";
}

// An empty directory stays so: it may be the place of a mount. Without one nothing is created.
TEST(RanksFile, WritesNothingWhereItsFolderWas) {
  for (const bool mount_point_stays : {false, true}) {
    const TempFolder folder("ranks_moved");
    const std::filesystem::path save = folder.path / "save", away = folder.path / "away";
    RanksFile file(save, 0, at_noon);
    std::filesystem::rename(save, away);
    if (mount_point_stays) std::filesystem::create_directory(save);
    file.take_ranks({});
    EXPECT_EQ(std::filesystem::exists(save), mount_point_stays);
    EXPECT_TRUE(!mount_point_stays || std::filesystem::is_empty(save));
    std::filesystem::remove(save);
    std::filesystem::rename(away, save);
    file.take_memory_use({});
    EXPECT_EQ(std::ranges::count(read_file(save / "ranks.jsonl"), '\n'), 1);
  }
}

TEST(RankPlaces, AreGatheredOnRankZero) {
  harness::run_ranks(3, [](Ranks& ranks) {
    const int r = ranks.rank();
    const auto all = gather_places(ranks, {r, "host" + std::to_string(r), r, r == 1 ? "bus" : "", r == 1 ? 7 : -1});
    if (r > 0) {
      EXPECT_TRUE(all.empty());
      return;
    }
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[2].host, "host2");
    EXPECT_EQ(all[1].rank, 1);
    EXPECT_EQ(all[1].gpu, 7);
    EXPECT_EQ(all[1].bus, "bus");
    EXPECT_EQ(all[2].stage, 2);
    EXPECT_EQ(all[0].gpu, -1);
  });
}

TEST(GpuNumber, IsNvmls) {
  EXPECT_EQ(gpu_number("0000:1b:00.0", FAKE_NVML), 5);
  EXPECT_EQ(gpu_number("0000:43:00.0", FAKE_NVML), std::nullopt);
  EXPECT_EQ(gpu_number("0000:1b:00.0", "libnothing.so"), std::nullopt);
  EXPECT_EQ(gpu_number("", FAKE_NVML), std::nullopt);
}

}  // namespace
}  // namespace megalith
