// `megalith submit`: prints a training command as a job of a cluster.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "cli/command.h"
#include "cli/own_flags.h"
#include "cli/training_line.h"
#include "submit/job.h"
#include "submit/send.h"

namespace megalith {

namespace {

struct SubmitFlags {
  bool slurm = false, pytorchjob = false, trainjob = false, jobset = false, mpijob = false, docker = false;
  bool dry_run = false, send = false;
  std::string out;
  std::vector<std::string> volumes;
  i64 nodes = 0;
  Job job;
};

void list_fields(SubmitFlags& c, config::FieldList& f) {
  f.group("Kind of job");
  f.add("slurm", c.slurm, "A batch script of Slurm.");
  f.add("pytorchjob", c.pytorchjob, "A PyTorchJob of Kubeflow.");
  f.add("trainjob", c.trainjob, "A TrainJob of Kubeflow Trainer.");
  f.add("jobset", c.jobset, "A JobSet of Kubernetes.");
  f.add("mpijob", c.mpijob, "An MPIJob of Kubeflow.");
  f.add("docker", c.docker, "A script that runs one container here.");
  f.group("Job");
  f.add("name", c.job.name, "Its name.");
  f.add("nodes", c.nodes, "Nodes. 0: as many as `--recipe NAME@GPUS` needs, else 1.");
  f.add("gpus-per-node", c.job.gpus_per_node, "GPUs of each, and ranks.");
  f.add("time", c.job.time, "For Slurm: its time limit.");
  f.add("image", c.job.image, "Container image with megalith. Optional for Slurm.");
  f.add("volume", c.volumes, "Volume claims and where they are mounted. Slurm and docker: directories.")
      .shown_as("CLAIM:/PATH");
  f.add("queue", c.job.queue, "Partition of Slurm, queue of Kueue.");
  f.group("Output");
  f.add("out", c.out, "File to write.").shown_as("FILE");
  f.add("dry-run", c.dry_run, "Print the file, write nothing.");
  f.add("send", c.send, "Give the file to sbatch, kubectl create or sh. Their exit status is the command's.");
}

// Nodes of the job. They have the GPUs that the recipe's name asks for.
i64 nodes_of(const SubmitFlags& c, i64 gpus) {
  const i64 each = std::max<i64>(1, c.job.gpus_per_node);
  check(gpus % each == 0,
        "the recipe is asked for on {} GPUs, and a node has {}: give a --gpus-per-node that divides {}", gpus, each,
        gpus);
  const i64 nodes = c.nodes != 0 ? c.nodes : std::max<i64>(1, gpus / each);
  check(gpus == 0 || nodes == gpus / each,
        "the recipe is asked for on {} GPUs, and not on {} nodes of {}: leave --nodes out, or @{}", gpus, nodes, each,
        gpus);
  return nodes;
}

// Without a --config file that exists only where the job runs.
TrainingLine training_line(const std::vector<std::string>& command) {
  std::vector<const char*> words;
  for (size_t i = 0; i < command.size(); ++i) {
    const bool attached = command[i].starts_with("--config=");
    const bool follows = command[i] == "--config" && i + 1 < command.size();
    const std::string file = attached ? command[i].substr(command[i].find('=') + 1) : follows ? command[i + 1] : "";
    if (file.empty() || std::filesystem::exists(file))
      words.push_back(command[i].c_str());
    else
      i += follows;
  }
  return read_training_line(int(words.size()), words.data());
}

// The recipe, the spelling of flags and their values.
void check_training(SubmitFlags& c, FlagChecks& checks) {
  const std::vector<std::string>& command = c.job.command;
  i64 gpus = 0;
  checks.run([&] {
    if (command.empty() || !command[0].starts_with("pretrain-")) return;  // check_job() refuses it
    const TrainingLine line = training_line(command);
    for (const std::string& mistake : line.read().wrong.lines()) checks.hold(false, "{}: {}", command[0], mistake);
    gpus = line.gpus;
  });
  checks.run([&] { c.job.nodes = nodes_of(c, gpus); });
}

std::string job_text(const SubmitFlags& c) {
  if (c.slurm) return slurm_script(c.job);
  if (c.pytorchjob) return pytorch_job(c.job);
  if (c.trainjob) return train_job(c.job);
  if (c.jobset) return job_set(c.job);
  return c.mpijob ? mpi_job(c.job) : docker_script(c.job);
}

void write_job(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::trunc);
  out << text;
  out.close();
  check(bool(out), "--out {}: can't be written: check the path and the disk", path);
  log::say("wrote {}", path);
}

std::vector<std::string> sender(const SubmitFlags& c) {
  if (c.slurm) return {"sbatch"};
  if (c.docker) return {"sh"};
  return {"kubectl", "create", "-f", "-"};
}

void settle(SubmitFlags& c, FlagChecks& checks) {
  const int kinds = c.slurm + c.pytorchjob + c.trainjob + c.jobset + c.mpijob + c.docker;
  constexpr std::string_view kFlags = "--slurm, --pytorchjob, --trainjob, --jobset, --mpijob, --docker";
  checks.hold(kinds != 0, "no kind of job is given: give one of {}", kFlags);
  checks.hold(kinds <= 1, "{} kinds of job are given: give one of {}", kinds, kFlags);
  check_training(c, checks);
  for (const std::string& text : c.volumes) checks.run([&] { c.job.volumes.push_back(parse_volume(text)); });
  checks.run([&] { check_job(c.job, kinds > 0 && !c.slurm); });
  checks.hold(!c.docker || c.job.nodes == 1, "--docker runs on one node: leave --nodes {} out", c.job.nodes);
  checks.hold(c.dry_run || c.send || !c.out.empty(), "give --out FILE, --send, or --dry-run to print the file");
  checks.hold(!c.dry_run || !c.send, "--dry-run sends nothing: leave --dry-run or --send out");
}

}  // namespace

int command_submit(int argc, const char* const* argv) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  const auto dashes = std::ranges::find(all, "--");
  SubmitFlags c;
  if (dashes != all.end()) c.job.command.assign(dashes + 1, all.end());
  const auto check_flags = [&](FlagChecks& checks) { settle(c, checks); };
  if (!read_flags(c, std::vector<std::string>(all.begin(), dashes), {}, check_flags)) return 0;
  const std::string text = job_text(c);
  if (c.dry_run)
    log::say("{}", text.substr(0, text.size() - 1));
  else if (!c.out.empty())
    write_job(c.out, text);
  return c.send ? run_with_input(sender(c), text) : 0;
}

}  // namespace megalith
