#include <omp.h>

#include <cstdlib>

#include "base/log.h"
#include "cli/command.h"
#include "cli/model_source.h"
#include "device/make_backend.h"
#include "train/pretrain.h"
#include "train/together.h"

namespace megalith {

int command_pretrain_gpt(int argc, const char* const* argv) {
  const Place place = find_place([](const char* name) -> const char* { return std::getenv(name); });
  if (place.rank > 0) log::mute();
  Options options = read_options(argc, argv);
  if (options.help) {
    log::say("{}", options_help());
    return 0;
  }
  const std::unique_ptr<Ranks> ranks =
      join(place, {.timeout_seconds = 60 * options.parallel.distributed_timeout_minutes});
  if (!options.train.dry_run || ranks->size() > 1) options.parallel.world_size = ranks->size();
  if (ranks->size() > 1 && !std::getenv("OMP_NUM_THREADS"))
    omp_set_num_threads(std::max(1, omp_get_num_procs() / place.local_size));
  std::unique_ptr<Backend> backend;
  together(*ranks, [&] {
    complete_options(options);
    backend = make_backend(options.train.device, ranks.get());
  });
  return pretrain_gpt(std::move(options), *backend, *ranks);
}

int command_flags(int, const char* const*) {
  log::say("{}", options_page());
  return 0;
}

}  // namespace megalith
