#include "tests/train/compatibility_examples.h"

namespace megalith {

Examples examples_of_observe() {
  return {
      {"prometheus-port is a port",
       {"--prometheus-port 70000", "--prometheus-port 70000 is out of range: give 1 to 65535, or 0 for a free one"}},
      {"prometheus-labels are names and values",
       {"--prometheus-port 0 --prometheus-labels team=a,9x=b",
        "--prometheus-labels team=a,9x=b: '9x=b' is no label: give NAME=VALUE, with letters, digits and _ in the "
        "name"}},
      {"prometheus-labels are names and values",
       {"--prometheus-port 0 --prometheus-labels job_name=a",
        "--prometheus-labels job_name=a: the label job_name is there already: give it another name"}},
      {"flags about the endpoint come with prometheus-port",
       {"--prometheus-labels team=a", "--prometheus-labels has no effect without --prometheus-port"}},
      {"flags about W&B come with wandb-project",
       {"--wandb-exp-name a", "--wandb-exp-name has no effect without --wandb-project"}},
      {"flags about curves come with a place for them",
       {"--log-memory-to-tensorboard",
        "--log-memory-to-tensorboard has no effect without --tensorboard-dir or --wandb-project"}}};
}

}  // namespace megalith
