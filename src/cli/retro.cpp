// megalith retro build, on one rank or several.
#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "cli/command.h"
#include "cli/device_products.h"
#include "cli/retro_build.h"
#include "cli/share_cores.h"
#include "comm/on_all_ranks.h"
#include "device/make_backend.h"

namespace megalith {

static constexpr i64 kProductRows = 8192;  // queries and points of one product: 256 MiB of results

static std::unique_ptr<PointProducts> products_of_device(const DeviceOptions& device, Ranks& ranks, i64 points,
                                                         i64 size) {
  if (device.kind() != DeviceKind::automatic && device.kind() != DeviceKind::cuda) return nullptr;
  std::unique_ptr<Backend> backend;
  on_all_ranks(ranks, [&] { backend = make_backend(device, &ranks); });
  if (backend->name() == "cpu") return nullptr;  // products of integers are faster there
  return std::make_unique<DeviceProducts>(std::move(backend), kProductRows, std::min(kProductRows, points), size);
}

// Rank 0 may learn an index for hours. A rank that dies is noticed within seconds all the same.
constexpr double kLongestWait = 7 * 86400;

int command_retro(int argc, const char* const* argv) {
  check(argc >= 2 && std::string_view(argv[1]) == "build",
        "give an action: megalith retro build [flags of pretrain-retro]");
  const Place place = find_place([](const char* name) -> const char* { return std::getenv(name); });
  if (place.rank > 0) log::mute();
  settle_drivers();
  std::vector<const char*> words(argv, argv + argc);
  words.erase(words.begin() + 1);
  const std::unique_ptr<Ranks> ranks = join(place, {.timeout_seconds = kLongestWait});
  share_cores(ranks->place());
  return tell_errors(*ranks, [&] {
    retro_build(int(words.size()), words.data(), *ranks, products_of_device);
    return 0;
  });
}

}  // namespace megalith
