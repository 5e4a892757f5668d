// Collectives in symmetric memory against their definition, to the bit. Ranks are threads; they share the GPUs that
// there are, so one GPU suffices for any number of ranks.
#include "exec/cuda/symmetric/comms.h"

#include <limits>

#include "base/rng.h"
#include "tests/exec_cuda_ranks/gpus.h"
#include "tests/exec_cuda_ranks/host_comms.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

using namespace harness;

// Fails where symmetric memory should have been used.
struct NoComms final : cuda::Comms {
  struct None final : cuda::Comm {
    using Comm::all_gather, Comm::reduce_scatter;
    int members() const override { return 0; }
    int me() const override { return 0; }
    void all_gather(const std::byte*, std::byte*, i64, DType, cudaStream_t) override { fail("another all_gather"); }
    void reduce_scatter(const std::byte*, std::byte*, std::byte*, i64, DType, cudaStream_t) override {
      fail("another sum");
    }
    void all_reduce(const std::byte*, std::byte*, i64, DType, bool, cudaStream_t) override { fail("another sum"); }
    void exchange(std::span<const cuda::Message>, std::span<const cuda::Message>, cudaStream_t) override {}
  } none;
  void connect(const std::vector<cuda::CommunicatorGroup>&) override {}
  cuda::Comm& at(const cuda::CommunicatorGroup&) override { return none; }
  std::string error() override { return {}; }
  void abort() override {}
};

// Element i of rank r: bf16 has it exactly, and sums of bf16 round.
float value(int r, i64 i) {
  const float x = float(i64(mix(u64(r), u64(i)) % 4001) - 2000);
  return float(bf16(x * 0.01f));
}

// A rank with one arena: `in` at its start, `out` in its middle.
template <class T>
struct Member {
  static constexpr i64 kHalf = i64{24} << 20;
  static constexpr int kBlocks = 16;  // eight ranks on one GPU fit
  Ranks& ranks;
  cuda::Device device;
  NoComms* others = new NoComms;  // owned by comms
  cuda::SymmetricComms comms;
  cuda::DeviceMemory arena;
  cuda::CommunicatorGroup group;

  Member(Ranks& r, int lane)
      : ranks(r),
        device(r.rank() % cuda_device_count(), ""),
        comms(r, device, std::unique_ptr<cuda::Comms>(others), {.blocks = kBlocks}),
        arena(cuda::try_device_memory(2 * kHalf)),
        group{cuda::CommunicatorGroup::collective, lane, {}} {
    for (int k = 0; k < r.size(); ++k) group.ranks.push_back(k);
    comms.connect({group});
    comms.share(arena.get(), 2 * kHalf, "halves");
  }
  ~Member() {
    ranks.barrier();
    comms.unshare(arena.get());
  }

  std::byte* in() { return arena.get(); }
  std::byte* out() { return arena.get() + kHalf; }
  cuda::Comm& comm() { return comms.at(group); }
  void put(std::byte* to, const std::vector<T>& x) {
    cuda::check_cuda(cudaMemcpy(to, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice), "test");
  }
  std::vector<T> get(const std::byte* from, i64 count) {
    std::vector<T> x((size_t(count)));
    cuda::check_cuda(cudaStreamSynchronize(device.stream()), "test");
    cuda::check_cuda(cudaMemcpy(x.data(), from, x.size() * sizeof(T), cudaMemcpyDeviceToHost), "test");
    return x;
  }
};

template <class T>
std::vector<T> values(int rank, i64 count) {
  std::vector<T> out;
  for (i64 i = 0; i < count; ++i) out.push_back(T(value(rank, i)));
  return out;
}

template <class T>
T sum(int ranks, i64 i, bool largest) {
  using S = std::conditional_t<(sizeof(T) < 4), float, T>;
  auto s = S(T(value(0, i)));
  for (int r = 1; r < ranks; ++r) {
    const auto x = S(T(value(r, i)));
    s = largest ? std::max(s, x) : s + x;
  }
  return T(s);
}

template <class T>
i64 different(const std::vector<T>& got, const std::function<T(i64)>& want) {
  i64 n = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const T w = want(i64(i));
    n += std::memcmp(&got[i], &w, sizeof w) != 0;
  }
  return n;
}

// Counts of elements of a part. The first is one word, and the second does not fill a block. The third takes many
// rounds of all blocks, and the last two fill no words.
template <class T>
std::vector<i64> part_sizes(int ranks) {
  const i64 word = 16 / sizeof(T);
  return {word, 1000 * word, (i64{9} << 20) / i64(sizeof(T)) / ranks / word * word - 3 * word, 1, 33333};
}

template <class T>
void expect_collectives(DType dtype, int n, int lane) {
  run_ranks(n, [&](Ranks& ranks) {
    Member<T> m(ranks, lane);
    const int me = ranks.rank();
    const cudaStream_t stream = m.device.stream();
    for (const i64 part : part_sizes<T>(n)) {
      const i64 all = part * n;
      const std::vector<T> mine = values<T>(me, all);
      for (const bool in_place : {false, true}) {
        m.put(m.in(), mine), m.put(m.out(), mine);
        ranks.barrier();
        const std::byte* from = in_place ? m.out() + me * part * i64(sizeof(T)) : m.in() + me * part * i64(sizeof(T));
        m.comm().all_gather(from, m.out(), part, dtype, stream);
        EXPECT_EQ(different<T>(m.get(m.out(), all), [&](i64 i) { return T(value(int(i / part), i)); }), 0)
            << "all_gather of " << part << " by rank " << me << " of " << n;
      }
      ranks.barrier();
      m.comm().reduce_scatter(m.in(), m.out(), m.out() + part * i64(sizeof(T)), part, dtype, stream);
      EXPECT_EQ(different<T>(m.get(m.out(), part), [&](i64 i) { return sum<T>(n, me * part + i, false); }), 0)
          << "reduce_scatter of " << part << " by rank " << me << " of " << n;
      for (const bool largest : {false, true})
        for (const bool in_place : {false, true}) {
          ranks.barrier();
          m.put(m.in(), mine);
          ranks.barrier();
          std::byte* const to = in_place ? m.in() : m.out();
          m.comm().all_reduce(m.in(), to, all, dtype, largest, stream);
          EXPECT_EQ(different<T>(m.get(to, all), [&](i64 i) { return sum<T>(n, i, largest); }), 0)
              << "all_reduce of " << all << " by rank " << me << " of " << n;
        }
    }
  });
}

class Symmetric : public OnGpus<1> {};
class SymmetricOnTwo : public OnGpus<2> {};

}  // namespace

TEST_F(Symmetric, CollectivesEqualTheirDefinition) {
  for (const int n : {2, 4, 8}) {
    expect_collectives<float>(DType::f32, n, 0);
    expect_collectives<bf16>(DType::bf16, n, 1);
    expect_collectives<f16>(DType::f16, n, 0);
  }
}

// Other numbers of members and other types have kernels without words of 16 bytes.
TEST_F(Symmetric, GeneralKernelsEqualTheDefinitionToo) {
  expect_collectives<bf16>(DType::bf16, 3, 0);
  expect_collectives<float>(DType::f32, 5, 1);
  expect_collectives<double>(DType::f64, 2, 0);
  expect_collectives<i32>(DType::i32, 2, 0);
}

// The work copies each part that arrives, and makes each part that is sent. Ranks with their own GPUs use copy engines.
// The lanes of eight ranks on one GPU may share a hardware queue, where one waits behind the other.
TEST_F(Symmetric, WorkBesideATransferHasItsPart) {
  for (const int n : {2, 4, 8}) {
    if (n > 4 * cuda_device_count()) continue;
    run_ranks(n, [&](Ranks& ranks) {
      Member<float> m(ranks, 4);
      cuda::Lane lane;
      const int me = ranks.rank();
      const i64 part = (i64{1} << 18) * (n < 8 ? 2 : 1), bytes = part * 4, all = part * n;  // 1 MiB and more
      const cudaStream_t stream = m.device.stream();
      const std::vector<float> mine = values<float>(me, all);
      const cuda::DeviceMemory other = cuda::try_device_memory(all * 4), zeros = cuda::try_device_memory(bytes);
      m.put(zeros.get(), std::vector<float>(size_t(part)));
      const auto copy = [&](std::byte* to, const std::byte* from) {
        cuda::symmetric_add({.members = 2}, {from, zeros.get()}, to, part, DType::f32, stream);
      };
      ranks.barrier();  // memory is taken before a rank waits for another
      for (int round = 0; round < 3; ++round) {
        m.put(m.in(), mine);
        ranks.barrier();
        const auto take = [&](int k) {
          copy(other.get() + k * bytes, k == me ? m.in() + me * bytes : m.out() + k * bytes);
        };
        m.comm().all_gather(m.in() + me * bytes, m.out(), part, DType::f32, {lane, stream, take});
        for (const std::byte* got : {other.get(), m.out()})
          EXPECT_EQ(different<float>(m.get(got, all), [&](i64 i) { return value(int(i / part), i); }), 0)
              << "all_gather by rank " << me << " of " << n;
        m.put(other.get(), mine), m.put(m.in(), std::vector<float>(size_t(all), 1e9f));
        ranks.barrier();
        const auto make = [&](int k) { copy(m.in() + k * bytes, other.get() + k * bytes); };
        m.comm().reduce_scatter(m.in(), m.out(), m.out() + bytes, part, DType::f32, {lane, stream, make});
        EXPECT_EQ(different<float>(m.get(m.out(), part), [&](i64 i) { return sum<float>(n, me * part + i, false); }), 0)
            << "reduce_scatter by rank " << me << " of " << n;
        ranks.barrier();
      }
    });
  }
}

// The tests above then try copies on lanes.
TEST_F(SymmetricOnTwo, LanesUseCopyEngines) {
  run_ranks(2, [](Ranks& ranks) { EXPECT_TRUE(Member<float>(ranks, 1).comms.copies()); });
}

TEST_F(Symmetric, AMaximumIsAMembersOwnUnlessANumberIsZero) {
  run_ranks(2, [](Ranks& ranks) {
    Member<float> m(ranks, 0);
    const auto largest = [&](float number) {
      m.put(m.in(), {float(ranks.rank()), 5}), m.put(m.in() + 64, {number}), m.put(m.out(), {-1});
      m.comm().all_reduce_max_unless(reinterpret_cast<const float*>(m.in() + 64), m.in(), m.out(), 1,
                                     m.device.stream());
      return m.get(m.out(), 1)[0];
    };
    ranks.barrier();
    if (ranks.rank() == 0) EXPECT_EQ(largest(2), 0);  // alone, so it would wait for ever
    ranks.barrier();
    EXPECT_EQ(largest(0), 1);
    ranks.barrier();
  });
}

// A few elements have no alignment: amax, counts, norms.
TEST_F(Symmetric, SmallSumsOfAnyPlace) {
  run_ranks(2, [](Ranks& ranks) {
    Member<float> m(ranks, 0);
    for (const i64 count : {1, 3, 700, 16384}) {
      ranks.barrier();
      m.put(m.in() + 4, values<float>(ranks.rank(), count));
      ranks.barrier();
      m.comm().all_reduce(m.in() + 4, m.in() + 4, count, DType::f32, false, m.device.stream());
      EXPECT_EQ(different<float>(m.get(m.in() + 4, count), [](i64 i) { return sum<float>(2, i, false); }), 0) << count;
    }
  });
}

// A maximum that lost NaN would hide that a gradient is not finite.
TEST_F(Symmetric, NanIsTheLargest) {
  run_ranks(2, [](Ranks& ranks) {
    Member<float> m(ranks, 0);
    for (const i64 count : {2, 65536}) {
      std::vector<float> x(size_t(count), 1);
      x[size_t(ranks.rank())] = std::numeric_limits<float>::quiet_NaN();
      ranks.barrier();
      m.put(m.in(), x);
      ranks.barrier();
      m.comm().all_reduce(m.in(), m.out(), count, DType::f32, true, m.device.stream());
      const std::vector<float> got = m.get(m.out(), count);
      EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
      if (count > 2) EXPECT_EQ(got.back(), 1);
    }
  });
}

// Many transfers in a row, of changing sizes: a block that did not wait would read what is not yet written.
TEST_F(Symmetric, TransfersInARowWaitForEachOther) {
  for (const int lane : {0, 1})
    run_ranks(2, [&](Ranks& ranks) {
      Member<float> m(ranks, lane);
      constexpr i64 kCount = 1 << 20;
      m.put(m.in(), std::vector<float>(kCount, 1));
      ranks.barrier();
      for (int k = 0; k < 10; ++k) {
        m.comm().all_reduce(m.in(), m.in(), kCount, DType::f32, false, m.device.stream());
        m.comm().all_reduce(m.in(), m.in(), 8, DType::f32, true, m.device.stream());
        m.comm().reduce_scatter(m.in(), m.out(), nullptr, kCount / 2, DType::f32, m.device.stream());
        m.comm().all_gather(m.out(), m.in(), kCount / 2, DType::f32, m.device.stream());
      }
      EXPECT_EQ(different<float>(m.get(m.in(), kCount), [](i64) { return 0x1p20f; }), 0);
    });
}

// Where buffers have other offsets on another rank, the other implementation moves the data.
TEST_F(Symmetric, OtherLayoutsAreNotShared) {
  run_ranks(2, [](Ranks& ranks) {
    Member<float> m(ranks, 0);
    const cuda::DeviceMemory other = cuda::try_device_memory(4 << 20);
    m.comms.share(other.get(), 4 << 20, ranks.rank() ? "a" : "b");
    EXPECT_THROW(m.comm().all_gather(other.get(), other.get(), 16, DType::f32, m.device.stream()), Error);
    m.comms.unshare(other.get());
    EXPECT_THROW(m.comm().all_gather(other.get(), other.get(), 16, DType::f32, m.device.stream()), Error);
  });
}

// A rank whose partner never comes stops waiting when the watch aborts it.
TEST_F(Symmetric, AbortEndsTheWait) {
  for (const int lane : {0, 1})
    run_ranks(2, [&](Ranks& ranks) {
      Member<float> m(ranks, lane);
      ranks.barrier();
      if (ranks.rank() == 0) {
        m.comm().all_gather(m.in(), m.out(), 1 << 20, DType::f32, m.device.stream());
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_EQ(cudaStreamQuery(m.device.stream()), cudaErrorNotReady);
        m.comms.abort();
        EXPECT_EQ(cudaStreamSynchronize(m.device.stream()), cudaSuccess);
      }
      ranks.barrier();
    });
}

}  // namespace megalith
