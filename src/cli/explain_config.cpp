// Prints where each setting of a training command is from.
#include <exception>

#include "base/log.h"
#include "cli/training_line.h"
#include "complete/complete_options.h"

namespace megalith {

void explain_config(const TrainingLine& line, Options options, const Place& place) {
  Options settled = options;
  const bool open = settled.parallel.layout == LayoutChoice::automatic && settled.train.micro_batch_size == 0;
  if (open) settled.train.micro_batch_size = 1;  // the planner's choice, which needs the run's device
  std::exception_ptr mistake;
  try {
    complete_options(settled, read_sources(settled));
  } catch (const Error&) {
    settled = std::move(options);  // settings that cannot be derived are printed as read
    mistake = std::current_exception();
  }
  const std::span<const std::string> words(line.words.begin() + 1, line.words.end());
  if (place.rank == 0) {
    for (const ExplainedSetting& s : explain(line.under, words, settled)) {
      if (open && s.name == "micro-batch-size")
        log::say("{:<48} {:<24} {}", s.name, "-", "chosen by --layout auto");
      else
        log::say("{:<48} {:<24} {}", s.name, s.value, s.source);
    }
  }
  if (mistake) std::rethrow_exception(mistake);
}

}  // namespace megalith
