#include "data/retro/neighbors.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/rng.h"
#include "base/threads.h"
#include "data/npy.h"
#include "data/retro/bag_sketch.h"
#include "data/retro/chunk_points.h"
#include "data/retro/nearest.h"

namespace megalith {
namespace {

constexpr i64 kQueriesAtOnce = i64{1} << 16, kPointsInMemory = i64{1} << 13;
// Points requested for each neighbour that is kept, because some belong to the sample's own documents.
constexpr i64 kAsked = 10;

// The queries of some samples, and the documents from which each sample has tokens.
struct Queries {
  std::vector<i16> points;
  std::vector<std::vector<i64>> documents;
};

Queries queries_of(const GptDataset& samples, i64 begin, i64 end, const NeighborSearch& s, const BagSketch& sketch) {
  const i64 chunks = samples.seq_length() / s.chunk_length;
  Queries out{std::vector<i16>(std::size_t((end - begin) * chunks * sketch.size())),
              std::vector<std::vector<i64>>(std::size_t(end - begin))};
  parallel_for(end - begin, 1, [&](i64 i) {
    const Batch sample = one_sample(samples, begin + i);
    const std::span<const i32> tokens = sample.ints("tokens");
    for (i64 c = 0; c < chunks; ++c)
      sketch.make(
          tokens.subspan(std::size_t(c * s.chunk_length), std::size_t(s.chunk_length)),
          std::span(out.points).subspan(std::size_t((i * chunks + c) * sketch.size()), std::size_t(sketch.size())));
    if (s.same_corpus) out.documents[std::size_t(i)] = samples.sequences(begin + i);
  });
  return out;
}

// Whether a chunk is allowed as a neighbour of a query.
bool may_be_near(const Queries& asked, i64 query, i64 chunk, i64 chunks_of_sample, const NeighborSearch& s) {
  return !std::ranges::binary_search(asked.documents[std::size_t(query / chunks_of_sample)],
                                     s.database.document(chunk));
}

std::vector<i64> neighbors_of(Queries asked, i64 chunks_of_sample, const NeighborSearch& s, const BagSketch& sketch) {
  NearestPoints nearest(std::move(asked.points), sketch.size(), s.keep, s.products);
  const auto may = [&](i64 query, i64 chunk) { return may_be_near(asked, query, chunk, chunks_of_sample, s); };
  for (i64 begin = 0; begin < s.database.size(); begin += kPointsInMemory)
    nearest.add(points_of(s.database, begin, std::min(s.database.size(), begin + kPointsInMemory), sketch), begin, may);
  std::vector<i64> out(std::size_t(nearest.queries() * s.keep), -1);
  for (i64 q = 0; q < nearest.queries(); ++q)
    for (std::size_t k = 0; k < nearest.of(q).size(); ++k) out[std::size_t(q * s.keep) + k] = nearest.of(q)[k].point;
  return out;
}

// Requests more points until enough of them are from other documents than the sample.
std::vector<i64> neighbors_in(const PointIndex& index, const Queries& asked, i64 chunks_of_sample,
                              const NeighborSearch& s, i64 point_size) {
  const i64 queries = i64(asked.points.size()) / point_size;
  std::vector<i64> out(std::size_t(queries * s.keep), -1);
  parallel_tasks(queries, [&](i64 q) {
    const auto point = std::span(asked.points).subspan(std::size_t(q * point_size), std::size_t(point_size));
    std::vector<i64> near;
    for (i64 count = kAsked * s.keep;; count *= kAsked) {
      count = std::min(count, s.database.size());
      near = index.near(point, count);
      const bool is_all = count == s.database.size() || near.back() < 0;
      std::erase_if(near, [&](i64 chunk) { return chunk < 0 || !may_be_near(asked, q, chunk, chunks_of_sample, s); });
      if (is_all || i64(near.size()) >= s.keep) break;
    }
    near.resize(std::min(near.size(), std::size_t(s.keep)));
    std::ranges::copy(near, out.begin() + std::ptrdiff_t(q * s.keep));
  });
  return out;
}

}  // namespace

Batch one_sample(const Dataset& samples, i64 i) {
  Batch out{.sequences = 1, .seq_length = samples.seq_length()};
  for (const SampleArray& array : samples.arrays()) out.arrays[array.name] = empty_array(array, 1);
  samples.get(i, SampleRow(out, 0));
  return out;
}

void write_neighbors(const std::string& path, const GptDataset& samples, const NeighborSearch& s,
                     const SearchRanks& ranks) {
  const BagSketch sketch(s.point_size, s.chunk_length);
  const i64 chunks = samples.seq_length() / s.chunk_length;
  std::optional<NpyWriter> file;
  if (ranks.rank == 0) file.emplace(path, NpyArray{.descr = "<i8", .rows = samples.size() * chunks, .columns = s.keep});
  const i64 step = std::max<i64>(1, kQueriesAtOnce / chunks) * ranks.size;
  for (i64 begin = 0; begin < samples.size(); begin += step) {
    const i64 end = std::min(samples.size(), begin + step), n = end - begin;
    Queries asked =
        queries_of(samples, begin + n * ranks.rank / ranks.size, begin + n * (ranks.rank + 1) / ranks.size, s, sketch);
    const std::vector<i64> found = s.index != nullptr ? neighbors_in(*s.index, asked, chunks, s, sketch.size())
                                                      : neighbors_of(std::move(asked), chunks, s, sketch);
    const std::string mine(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(i64));
    const std::vector<std::string> all = ranks.size > 1 ? ranks.gather(mine) : std::vector{mine};
    for (const std::string& part : all) file.value().write(std::span<const char>(part));
  }
  if (file) file->finish();
}

std::string digest_of_samples(const Dataset& samples) {
  u64 digest = u64(samples.size());
  if (samples.size() > 0)
    for (const i64 i : {i64{0}, samples.size() / 3, samples.size() / 2, samples.size() - 1}) {
      const Batch sample = one_sample(samples, i);
      for (const i32 token : sample.ints("tokens")) digest = mix(digest, u64(token));
    }
  return fmt::format("{:016x}", digest);
}

}  // namespace megalith
