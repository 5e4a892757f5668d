#include "cli/retro_build.h"

#include <filesystem>

#include "base/canonical_path.h"
#include "base/log.h"
#include "complete/complete_options.h"
#include "config/show.h"
#include "data/blend.h"
#include "data/build_datasets.h"
#include "data/indexed_dataset.h"
#include "data/retro/neighbor_index.h"
#include "data/retro/neighbors.h"
#include "data/retro/project.h"
#include "settings/megatron_flags.h"
#include "settings/schedules.h"

namespace megalith {

namespace {

struct RetroBuildFlags {
  std::string database_path;  // empty: the training documents of the data
  i64 point_size = 512, keep = 20;
  PointIndexConfig index;  // of no description: the search is exact
  i64 learned = 1 << 18, learn_minutes = 0;
  Options options;
};

void list_fields(RetroBuildFlags& c, config::FieldList& f) {
  f.group("Neighbours: megalith retro build [these flags] [the flags of pretrain-retro]");
  f.add("retro-database-path", c.database_path,
        "Dataset whose chunks are the database. Default: the training documents of --data-path.")
      .shown_as("PREFIX");
  f.add("retro-point-size", c.point_size, "Size of the vector of a chunk, a multiple of 64.");
  f.add("retro-query-num-neighbors-save", c.keep, "Neighbours of each chunk in the files.");
  f.add("retro-index-str", c.index.description,
        "Search with an approximate faiss index, in the syntax of index_factory, such as IVF4096,Flat. Default: exact "
        "search.")
      .shown_as("INDEX");
  f.add("retro-index-ntrain", c.learned, "Maximum number of chunks to train the index with.");
  f.add("retro-index-learn-mins", c.learn_minutes, "Time limit of the index's training, in minutes. 0: none.");
  f.add("retro-query-nprobe", c.index.probes, "Inverted lists that a search reads.");
  f.add("retro-query-ef-search", c.index.explored, "HNSW candidates that a search keeps (efSearch).");
  list_fields(c.options, f);
}

// What of a training run's flags the neighbours do not depend on may be left out.
void settle(Options& o) {
  ModelConfig& m = o.model;
  o.trains = m.architecture = Architecture::retro;
  if (m.num_layers == 0) m.num_layers = 12;
  if (m.num_attention_heads == 0) m.num_attention_heads = 1;
  if (m.hidden_size == 0) m.hidden_size = 64 * m.num_attention_heads;
  if (o.train.micro_batch_size == 0) o.train.micro_batch_size = 1;
  if (o.optimizer.lr == 0) o.optimizer.lr = 1, o.optimizer.min_lr = 0;
  o.train.load.clear();  // the samples are those of the whole run
}

std::string prefix_of(const Options& o) {
  const DataConfig& d = o.data;
  check(!d.mock_data && d.data_path.size() == 1,
        "retro build reads one dataset: give --data-path PREFIX; to combine several, use megalith merge-datasets");
  return d.data_path[0];
}

ChunkDatabase make_database(const RetroBuildFlags& flags, const std::string& prefix) {
  const DataConfig& d = flags.options.data;
  const auto source = std::make_shared<IndexedDataset>(prefix);
  Range documents{0, source->sequences()};
  if (flags.database_path.empty()) {
    const auto train = split_ranges(parse_split(d.split.empty() ? kDefaultSplit : d.split), documents.size())[0];
    check(train && train->size() > 0, "--split \"{}\" gives no documents to training, which would be the database",
          d.split);
    documents = *train;
  }
  return ChunkDatabase::cut(source, documents, flags.options.model.retro.chunk_length, d.eod);
}

const GptDataset& gpt_samples(const Dataset& set, const std::string& prefix) {
  const auto* samples = dynamic_cast<const GptDataset*>(&set);
  check(samples != nullptr, "{} is not one dataset: give a single --data-path PREFIX", prefix);
  return *samples;
}

// Of what may be asked of a project.
void check_sizes(const RetroBuildFlags& flags) {
  const Options& o = flags.options;
  const std::string& dir = o.data.retro_project_dir;
  check(!dir.empty(), "--retro-project-dir DIR is required: the output directory");
  check(flags.keep >= o.model.retro.num_neighbors && flags.keep <= 1000,
        "--retro-query-num-neighbors-save {}: want --retro-num-neighbors ({}) to 1000", flags.keep,
        o.model.retro.num_neighbors);
  check(flags.point_size >= 64 && flags.point_size % 64 == 0 && flags.point_size <= 4096,
        "--retro-point-size {}: want a multiple of 64, to 4096", flags.point_size);
  const auto check_count = [](const char* flag, i64 value, i64 low) {
    check(value >= low && value <= (i64{1} << 30), "{} {}: want {} to 1073741824", flag, value, low);
  };
  check_count("--retro-index-ntrain", flags.learned, 1);
  check_count("--retro-index-learn-mins", flags.learn_minutes, 0);
  check_count("--retro-query-nprobe", flags.index.probes, 1);
  check_count("--retro-query-ef-search", flags.index.explored, 1);
  if (!flags.index.description.empty()) return check_point_index(flags.index.description, flags.point_size);
  for (const char* flag :
       {"retro-index-ntrain", "retro-index-learn-mins", "retro-query-nprobe", "retro-query-ef-search"})
    check(!o.given.has(flag), "--{} has no effect: the search is exact: give --retro-index-str, or leave it out", flag);
}

// Rank 0's bytes on all ranks.
void send_to_all(Ranks& ranks, std::string& bytes) {
  constexpr int kTag = 1;
  const std::vector<std::string> sizes = ranks.all_gather(std::to_string(bytes.size()));
  std::vector<Piece> sends, receives;
  if (ranks.rank() == 0) {
    for (int peer = 1; peer < ranks.size(); ++peer) sends.push_back({peer, bytes.data(), i64(bytes.size())});
  } else {
    bytes.resize(std::stoull(sizes[0]));
    receives.push_back({0, bytes.data(), i64(bytes.size())});
  }
  ranks.wait(ranks.exchange(kTag, sends, receives));
}

// Rank 0 builds the index, because its training may depend on a rank's threads. nullptr: no index is requested.
std::unique_ptr<PointIndex> make_index(const RetroBuildFlags& flags, const ChunkDatabase& database, Ranks& ranks) {
  if (flags.index.description.empty()) return nullptr;
  IndexPlan plan{.config = flags.index,
                 .point_size = flags.point_size,
                 .chunk_length = flags.options.model.retro.chunk_length,
                 .learned = flags.learned};
  plan.config.learn_seconds = 60 * double(flags.learn_minutes);
  std::unique_ptr<PointIndex> index;
  if (ranks.rank() == 0) index = index_chunks(database, plan);
  if (ranks.size() == 1) return index;
  std::string bytes = index ? index->bytes() : "";
  send_to_all(ranks, bytes);
  return index ? std::move(index) : read_point_index(plan.config, plan.point_size, bytes);
}

// Each rank has the samples and the database; they share the samples out. Rank 0 writes.
void build_project(const RetroBuildFlags& flags, Ranks& ranks, const MakeProducts& make_products) {
  check_sizes(flags);
  const Options& o = flags.options;
  const std::string& dir = o.data.retro_project_dir;
  const bool writes = ranks.rank() == 0;
  const std::string data = prefix_of(o),
                    prefix = canonical_path(flags.database_path.empty() ? data : flags.database_path);
  const Datasets sets = build_datasets(o.data, sample_counts(run_length(o)));
  const ChunkDatabase database = make_database(flags, prefix);
  if (writes) {
    std::filesystem::create_directories(dir);
    std::filesystem::remove(dir + "/config.json");  // until all else is whole
    database.save(chunks_file(dir));
  }
  RetroProject project{.chunk_length = o.model.retro.chunk_length,
                       .seq_length = o.model.seq_length,
                       .kept = flags.keep,
                       .point_size = flags.point_size,
                       .database = prefix,
                       .chunks = database.size(),
                       .splits = {}};
  log::say("> {} chunks of {} tokens in the database of {}", database.size(), project.chunk_length, prefix);
  const std::unique_ptr<PointIndex> index = make_index(flags, database, ranks);
  const std::unique_ptr<PointProducts> products =
      make_products && !index ? make_products(o.train.device, ranks, database.size(), flags.point_size) : nullptr;
  const NeighborSearch search{.database = database,
                              .chunk_length = project.chunk_length,
                              .point_size = flags.point_size,
                              .keep = flags.keep,
                              .same_corpus = prefix == canonical_path(data),
                              .products = products.get(),
                              .index = index.get()};
  const SearchRanks shared{.rank = ranks.rank(), .size = ranks.size(), .gather = [&](const std::string& mine) {
                             return ranks.gather(mine);
                           }};
  for (const auto& [split, set] :
       {std::pair(Split::train, sets.train), {Split::valid, sets.valid}, {Split::test, sets.test}}) {
    if (!set || set->size() == 0) continue;
    write_neighbors(neighbors_file(dir, name_of(split)), gpt_samples(*set, data), search, shared);
    project.splits[name_of(split)] = {set->size(), digest_of_samples(*set)};
    log::say("> neighbours of {} {} samples", set->size(), name_of(split));
  }
  if (writes) write_project(dir, project);
}

}  // namespace

void retro_build(int argc, const char* const* argv, Ranks& ranks, const MakeProducts& make_products) {
  RetroBuildFlags flags;
  config::FieldList fields = config::fields_of(flags);
  Options& o = flags.options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  take_parsed(o, config::parse_all(fields, words, megatron_flags()), argv[0]);
  if (o.help) {
    log::say("{}", config::help_text(fields));
    return;
  }
  settle(o);
  complete_options(o, read_sources(o));
  build_project(flags, ranks, make_products);
}

}  // namespace megalith
