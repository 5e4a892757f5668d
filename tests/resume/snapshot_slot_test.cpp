// Tests of a snapshot in a memory file. It must read back as written, and every flipped bit must be detected.
#include "resume/snapshot_slot.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <random>

#include "comm/socket.h"
#include "resume/snapshot_tensors.h"
#include "tests/error_of.h"

namespace megalith {
namespace {

class SnapshotSlot : public ::testing::Test {
 protected:
  static Manifest manifest(i64 iteration) { return {iteration, 8 * iteration, "{}", "{\"a\": 1}"}; }
  static std::vector<float> numbers(size_t n, float first) {
    std::vector<float> v(n);
    std::iota(v.begin(), v.end(), first);
    return v;
  }
  void write(i64 iteration, int threads = 1) const {
    std::vector<SaveTensor> tensors{{"near", {5, 7}, DType::f32, near_.data()},
                                    {"far", {i64(far_.size())}, DType::f32, nullptr}};
    tensors[1].fill = [this](i64 begin, i64 n, std::byte* out) {
      std::memcpy(out, far_.data() + begin, size_t(n) * sizeof(float));
    };
    write_snapshot(file_.fd(), manifest(iteration), tensors, threads);
  }
  // Reads and verifies the whole snapshot, as a start does.
  std::optional<Snapshot> checked(int threads = 1) const {
    auto s = read_snapshot(file_.fd());
    if (s) check_snapshot(*s, threads);
    return s;
  }
  void expect_written(Snapshot s, i64 iteration) const {
    EXPECT_EQ(s.account.manifest.iteration, iteration);
    std::vector<Snapshot> one;
    one.push_back(std::move(s));
    const auto tensors = read_snapshots(std::move(one));
    for (const auto& [name, want] : {std::pair{"near", &near_}, std::pair{"far", &far_}}) {
      std::vector<float> is(want->size());
      tensors->read_range_as(tensors->at(name), 0, i64(is.size()), DType::f32, reinterpret_cast<std::byte*>(is.data()));
      EXPECT_TRUE(is == *want) << name;
    }
  }
  void flip(i64 bit) const {
    unsigned char byte = 0;
    ASSERT_EQ(pread(file_.fd(), &byte, 1, bit / 8), 1);
    byte = static_cast<unsigned char>(byte ^ (1 << bit % 8));
    ASSERT_EQ(pwrite(file_.fd(), &byte, 1, bit / 8), 1);
  }
  void seal(int seals) const { ASSERT_EQ(fcntl(file_.fd(), F_ADD_SEALS, seals), 0); }

  const Socket file_{memfd_create("megalith-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  std::vector<float> near_ = numbers(35, 0.5f), far_ = numbers(1000, -3);
};

TEST_F(SnapshotSlot, HoldsNothingAtFirst) { EXPECT_FALSE(read_snapshot(file_.fd())); }

TEST_F(SnapshotSlot, GivesBackTheNewest) {
  write(3);
  expect_written(*checked(), 3);
  far_ = numbers(400, 9);  // bytes of the previous, longer snapshot are not included
  write(5);
  expect_written(*checked(), 5);
}

// Several threads write and verify chunks of 4 MiB.
TEST_F(SnapshotSlot, IsWrittenBySeveralThreads) {
  far_ = numbers((40 << 20) / sizeof(float) + 11, 1);
  write(2, 4);
  expect_written(*checked(4), 2);
  flip(8 * (i64{33} << 20));
  EXPECT_NE(error_of([&] { (void)checked(4); }).find("tensor far, chunk 8"), std::string::npos);
}

// Preallocated memory has no snapshot. The first snapshot uses that memory.
TEST_F(SnapshotSlot, HasRoomAheadOfTheFirst) {
  constexpr i64 kBytes = (i64{9} << 20) + 5;
  const std::atomic<bool> is_over = false;
  make_slot_room(file_.fd(), kBytes, 3, is_over);
  struct stat s {};
  ASSERT_EQ(fstat(file_.fd(), &s), 0);
  EXPECT_EQ(s.st_size, kBytes);
  EXPECT_GE(s.st_blocks * 512, kBytes);
  EXPECT_FALSE(read_snapshot(file_.fd()));
  far_ = numbers((8 << 20) / sizeof(float), 2);
  write(4, 3);
  expect_written(*checked(3), 4);
  make_slot_room(file_.fd(), 2 * kBytes, 3, is_over);  // a slot with a snapshot stays unchanged
  expect_written(*checked(3), 4);
}

TEST_F(SnapshotSlot, NoFlippedBitIsRead) {
  write(3);
  const i64 bits = 8 * lseek(file_.fd(), 0, SEEK_END);
  std::mt19937_64 random{4};
  int noticed = 0;
  for (int i = 0; i < 500; ++i) {
    const i64 bit = i64(random() % u64(bits));
    flip(bit);
    try {
      (void)checked();
      ADD_FAILURE() << "bit " << bit;
    } catch (const DamagedCheckpoint&) {
      ++noticed;
    }
    flip(bit);
  }
  EXPECT_EQ(noticed, 500);
  for (const i64 byte : {0, 39, 40, 63, 204, 255, 4256, 4287}) {  // in the head, after it, and between blocks
    flip(8 * byte + 7);
    EXPECT_NE(error_of([&] { (void)checked(); }).find("a snapshot in memory is damaged"), std::string::npos) << byte;
    flip(8 * byte + 7);
  }
  expect_written(*checked(), 3);
}

// If the system has no memory, the write fails and the slot is empty.
TEST_F(SnapshotSlot, IsGoneWhereMemoryIsShort) {
  write(3);
  seal(F_SEAL_GROW);
  far_ = numbers(100000, 9);
  EXPECT_NE(error_of([&] { write(5); }).find("the agent's memory for snapshots is full"), std::string::npos);
  EXPECT_FALSE(read_snapshot(file_.fd()));
}

}  // namespace
}  // namespace megalith
