#include "data/retro/retro_dataset.h"

#include "base/check.h"
#include "data/indexed_dataset.h"
#include "data/npy.h"
#include "data/retro/neighbors.h"
#include "data/retro/project.h"

namespace megalith {

RetroDataset::RetroDataset(std::shared_ptr<const Dataset> samples, std::shared_ptr<const ChunkDatabase> database,
                           StoredArray<i64> found, i64 kept, RetroSampleOptions options)
    : samples_(std::move(samples)),
      database_(std::move(database)),
      found_(std::move(found)),
      kept_(kept),
      options_(std::move(options)) {}

std::vector<SampleArray> RetroDataset::arrays() const {
  std::vector<SampleArray> out = samples_->arrays();
  out.push_back({"neighbor_tokens", DType::i32, chunks() * options_.neighbors * retrieved()});
  return out;
}

void RetroDataset::get(i64 i, const SampleRow& row) const {
  samples_->get(i, row);
  const std::span<i32> out = row.ints("neighbor_tokens");
  if (out.empty()) return;
  for (i64 n = 0; n < chunks() * options_.neighbors; ++n) {
    const std::span<i32> to = out.subspan(std::size_t(n * retrieved()), std::size_t(retrieved()));
    const i64 at = (i * chunks() + n / options_.neighbors) * kept_ + n % options_.neighbors, chunk = found_[at];
    check(chunk >= -1 && chunk < database_->size(),
          "{}: a neighbour of sample {} is chunk {} of {}: run megalith retro build again", options_.project_dir, i,
          chunk, database_->size());
    if (chunk < 0)
      std::ranges::fill(to, options_.pad);
    else
      database_->read(chunk, options_.retrieved_chunks, options_.pad, to);
  }
}

static std::shared_ptr<const Dataset> with_neighbors_of(Split split, std::shared_ptr<const Dataset> set,
                                                        const RetroProject& project,
                                                        std::shared_ptr<const ChunkDatabase> database,
                                                        const RetroSampleOptions& o) {
  if (!set || set->size() == 0) return set;
  const auto built = project.splits.find(name_of(split));
  const bool is_same = built != project.splits.end() && built->second.samples == set->size() &&
                       built->second.digest == digest_of_samples(*set);
  check(is_same,
        "{} has no neighbours of the {} {} samples of this run: run megalith retro build with this run's flags for "
        "data, batches and length",
        o.project_dir, set->size(), name_of(split));
  const NpyArray array{
      .descr = "<i8", .rows = set->size() * (set->seq_length() / project.chunk_length), .columns = project.kept};
  const std::string path = neighbors_file(o.project_dir, name_of(split));
  const auto file = map_npy(path, array);
  check(file != nullptr, "{} does not have {} x {} neighbours: run megalith retro build again", path, array.rows,
        array.columns);
  StoredArray<i64> found{file, i64(npy_header(array).size())};
  return std::make_shared<RetroDataset>(std::move(set), std::move(database), std::move(found), project.kept, o);
}

Datasets with_neighbors(Datasets sets, const RetroSampleOptions& o) {
  const RetroProject project = read_project(o.project_dir);
  check(project.chunk_length == o.chunk_length,
        "--retro-chunk-length {}: the chunks of {} have {} tokens: give --retro-chunk-length {}", o.chunk_length,
        o.project_dir, project.chunk_length, project.chunk_length);
  check(project.kept >= o.neighbors,
        "--retro-num-neighbors {}: {} has {} for each chunk: give fewer, or build more with "
        "--retro-query-num-neighbors-save",
        o.neighbors, o.project_dir, project.kept);
  const auto database = std::make_shared<const ChunkDatabase>(ChunkDatabase::open(
      chunks_file(o.project_dir), project.chunks, std::make_shared<IndexedDataset>(project.database)));
  const auto with = [&](Split split, std::shared_ptr<const Dataset>& set) {
    set = with_neighbors_of(split, std::move(set), project, database, o);
  };
  with(Split::train, sets.train), with(Split::valid, sets.valid), with(Split::test, sets.test);
  return sets;
}

}  // namespace megalith
