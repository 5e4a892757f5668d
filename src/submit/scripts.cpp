// Jobs as shell scripts: Slurm's, and docker's.
#include <fmt/format.h>

#include "submit/job.h"

namespace megalith {

// The launch saves at USR2 and ends with 85: start again. 93 says that another start would not help.
std::string slurm_script(const Job& job) {
  std::string out = fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node={}\n"
      "#SBATCH --time={}\n#SBATCH --exclusive\n#SBATCH --requeue\n#SBATCH --open-mode=append\n"
      "#SBATCH --output=%x-%j.log\n#SBATCH --signal=B:USR2@120\n",
      job.name, job.nodes, job.gpus_per_node, job.time);
  if (!job.queue.empty()) out += fmt::format("#SBATCH --partition={}\n", job.queue);
  std::string mounts;
  for (const JobVolume& v : job.volumes) mounts += (mounts.empty() ? "" : ",") + v.claim + ":" + v.path;
  const std::string container = job.image.empty()
                                    ? ""
                                    : fmt::format(" --container-image={}{}", shell_word(job.image),
                                                  mounts.empty() ? "" : " --container-mounts=" + shell_word(mounts));
  return out + fmt::format(
                   "\nset -u\n"
                   "head=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
                   "# Each signal to this script goes on to the ranks; a second wait takes the code that they leave "
                   "with.\n"
                   "trap 'kill -USR2 \"$step\"' USR2\ntrap 'kill -TERM \"$step\"' TERM\n"
                   "srun --kill-on-bad-exit=1{} megalith launch --run-id \"$SLURM_JOB_ID\" \\\n"
                   "  --rdzv-endpoint \"$head:29500\" --nproc-per-node {} -- \\\n"
                   "  {} &\n"
                   "step=$!\n"
                   "wait \"$step\"\ncode=$?\n"
                   "while kill -0 \"$step\" 2> /dev/null; do\n  wait \"$step\"\n  code=$?\ndone\n"
                   "if [ \"$code\" -eq 85 ]; then\n  scontrol requeue \"$SLURM_JOB_ID\"\n  exit 0\nfi\n"
                   "exit \"$code\"\n",
                   container, job.gpus_per_node, shell_line(job.command));
}

std::string docker_script(const Job& job) {
  std::string mounts;
  for (const JobVolume& v : job.volumes)
    mounts += fmt::format(" \\\n  --volume {}", shell_word(v.claim + ":" + v.path));
  return fmt::format(
      "#!/bin/sh\n"
      "exec docker run --rm --init --gpus all --ipc host --ulimit memlock=-1 --stop-timeout 120 \\\n"
      "  --name {}{} \\\n"
      "  {} megalith launch --standalone --nproc-per-node {} -- \\\n"
      "  {}\n",
      job.name, mounts, shell_word(job.image), job.gpus_per_node, shell_line(job.command));
}

}  // namespace megalith
