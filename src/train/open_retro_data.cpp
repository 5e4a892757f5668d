#include "train/open_retro_data.h"

#include <algorithm>

#include "data/retro/retro_dataset.h"

namespace megalith {

Datasets open_retro_data(const Options& o, const SampleCounts& counts) {
  const RetroModelConfig& retro = o.model.retro;
  if (!retro.add_retriever) return build_datasets(o.data, counts);
  check(!o.data.retro_project_dir.empty(),
        "a RETRO needs the neighbours of its samples: make them by megalith retro build, and give --retro-project-dir "
        "DIR");
  check(!o.data.mock_data, "--mock-data has no neighbours: give --data-path and --retro-project-dir");
  return with_neighbors(build_datasets(o.data, counts), {.project_dir = o.data.retro_project_dir,
                                                         .chunk_length = retro.chunk_length,
                                                         .neighbors = retro.num_neighbors,
                                                         .retrieved_chunks = retro.num_retrieved_chunks,
                                                         .pad = i32(std::max<i64>(0, o.data.eod))});
}

}  // namespace megalith
