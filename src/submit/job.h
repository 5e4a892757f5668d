// A training command as a job of a cluster: the file that its scheduler takes.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct JobVolume {
  std::string claim, path;  // a persistent volume claim (docker: a directory) and where it is mounted
};

struct Job {
  std::string name = "megalith";
  i64 nodes = 1, gpus_per_node = 8;
  std::string time = "24:00:00";  // Slurm's form
  std::string image, queue;       // empty: none
  std::vector<JobVolume> volumes;
  std::vector<std::string> command;  // of the ranks: "pretrain-gpt", "--num-layers", ...
};

// "data:/data" is a claim and its path. Throws Error on another form.
JobVolume parse_volume(const std::string& text);
// Throws Error where a value would not be one in a job's file.
void check_job(const Job& job, bool needs_image);

std::string slurm_script(const Job& job);
std::string docker_script(const Job& job);
std::string pytorch_job(const Job& job);
std::string train_job(const Job& job);
std::string job_set(const Job& job);
std::string mpi_job(const Job& job);

// A word that a shell takes as it is.
std::string shell_word(const std::string& word);
std::string shell_line(const std::vector<std::string>& words);
// A scalar of YAML with any text.
std::string yaml_text(const std::string& text);

}  // namespace megalith
