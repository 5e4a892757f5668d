// The lists of flags about TensorBoard's curves, the Prometheus endpoint and W&B's files.
#include "settings/options_fields_run.h"

namespace megalith {

void list_tensorboard(TrainConfig& c, config::FieldList& f) {
  f.add("log-timers-to-tensorboard", c.log_timers_to_tensorboard,
        "Also write to TensorBoard and W&B how long evaluations and saves stopped the training. Iteration time and "
        "throughput are always written.");
  f.add("log-memory-to-tensorboard", c.log_memory_to_tensorboard,
        "Also write the process's memory and its peak to TensorBoard and W&B.");
  f.add("log-validation-ppl-to-tensorboard", c.log_validation_ppl_to_tensorboard,
        "Write to TensorBoard and W&B too the perplexity of each validation loss.");
  f.add("log-world-size-to-tensorboard", c.log_world_size_to_tensorboard,
        "Also write the number of ranks to TensorBoard and W&B.");
  f.add(
      "log-optimizer-states-to-tensorboard", c.log_optimizer_states_to_tensorboard,
      "Write the norms of the optimizer's states, as of Adam's two moments, to TensorBoard, W&B, the metrics file and "
      "Prometheus too. Megatron-DeepSpeed's flag.");
}

void list_fields(ObserveConfig& c, config::FieldList& f) {
  f.group("Monitoring");
  f.add("run-name", c.run_name,
        "The run's name in Prometheus (job_name) and W&B; default: SLURM_JOB_NAME, or the name of the --save "
        "directory. Not in Megatron.")
      .shown_as("NAME");
  f.add("prometheus-port", c.prometheus_port,
        "Port of the run's own Prometheus endpoint (/metrics, /healthz), on rank 0; 0: a free one, which is printed; "
        "-1: none. Not in Megatron.");
  f.add("prometheus-address", c.prometheus_address, "Address that the endpoint listens on. Not in Megatron.")
      .shown_as("ADDRESS");
  f.add("prometheus-labels", c.prometheus_labels, "Labels of all series: cluster=a,team=b. Not in Megatron.")
      .shown_as("NAME=VALUE,...");
  f.add("prometheus-all-ranks", c.prometheus_all_ranks,
        "An endpoint on each rank: on the port plus the rank's number on its host. Not in Megatron.");
  f.add("wandb-project", c.wandb_project,
        "Project of W&B: rank 0 writes an offline run, which `wandb sync` uploads; the run uploads nothing.")
      .also("--wandb-project-name");
  f.add("wandb-exp-name", c.wandb_exp_name, "The run's name in W&B; default: WANDB_NAME, or --run-name.");
  f.add("wandb-entity", c.wandb_entity, "The entity that the project belongs to.").also("--wandb-entity-name");
  f.add("wandb-save-dir", c.wandb_save_dir, "Directory for W&B's files; default: WANDB_DIR, or wandb under --save.")
      .shown_as("DIR");
}

}  // namespace megalith
