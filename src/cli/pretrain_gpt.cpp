#include "base/log.h"
#include "cli/command.h"
#include "cli/model_source.h"
#include "device/make_backend.h"
#include "train/pretrain.h"

namespace megalith {

int command_pretrain_gpt(int argc, const char* const* argv) {
  Options options = read_options(argc, argv);
  if (options.help) {
    log::say("{}", options_help());
    return 0;
  }
  complete_options(options);
  const std::unique_ptr<Backend> backend = make_backend(options.train.device);
  return pretrain_gpt(std::move(options), *backend);
}

int command_flags(int, const char* const*) {
  log::say("{}", options_page());
  return 0;
}

}  // namespace megalith
