// Jobs as objects of Kubernetes.
#include <fmt/format.h>

#include <algorithm>

#include "submit/job.h"

namespace megalith {

namespace {

constexpr int kPort = 29500, kGraceSeconds = 300;
constexpr std::string_view kNoMorePrivileges = "securityContext: {allowPrivilegeEscalation: false}";

std::string indented(const std::string& text, int by) {
  std::string out;
  const std::string blank(size_t(by), ' ');
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += blank + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += "- " + yaml_text(word) + "\n";
  return out;
}

std::string mounts_of(const Job& job) {
  std::string out = "- {name: shm, mountPath: /dev/shm}\n";
  for (size_t i = 0; i < job.volumes.size(); ++i)
    out += fmt::format("- {{name: volume-{}, mountPath: {}}}\n", i, yaml_text(job.volumes[i].path));
  return out;
}

std::string volumes_of(const Job& job) {
  std::string out = "- name: shm\n  emptyDir: {medium: Memory}\n";
  for (size_t i = 0; i < job.volumes.size(); ++i)
    out += fmt::format("- name: volume-{}\n  persistentVolumeClaim: {{claimName: {}}}\n", i,
                       yaml_text(job.volumes[i].claim));
  return out;
}

// Of a launch on one node; `more`: its own flags.
std::vector<std::string> launch_words(const Job& job, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"megalith", "launch", "--nproc-per-node", fmt::to_string(job.gpus_per_node)};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back("--");
  words.insert(words.end(), job.command.begin(), job.command.end());
  return words;
}

std::string resources_of(const Job& job) {
  return fmt::format("resources:\n  limits: {{nvidia.com/gpu: {}}}\n", job.gpus_per_node);
}

// An item of a list, indented by two.
std::string item_of(const std::string& text) {
  std::string item = indented(text, 4);
  item[2] = '-';
  return item;
}

std::string container(const Job& job, const std::string& name, const std::vector<std::string>& words, bool gpus) {
  std::string out =
      fmt::format("name: {}\nimage: {}\ncommand:\n{}", name, yaml_text(job.image), indented(list_of(words), 2));
  if (gpus) out += resources_of(job);
  return item_of(fmt::format("{}{}\nvolumeMounts:\n{}", out, kNoMorePrivileges, indented(mounts_of(job), 2)));
}

std::string pod_settings() {
  return fmt::format(
      "terminationGracePeriodSeconds: {}\nsecurityContext: {{runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000}}\n",
      kGraceSeconds);
}

std::string pod_spec(const Job& job, const std::string& restart, const std::string& containers) {
  return fmt::format("restartPolicy: {}\n{}containers:\n{}volumes:\n{}", restart, pod_settings(), containers,
                     indented(volumes_of(job), 2));
}

std::string pod_template(const std::string& spec) { return "template:\n  spec:\n" + indented(spec, 4); }

std::string head(const Job& job, const std::string& api, const std::string& kind) {
  std::string out = fmt::format("apiVersion: {}\nkind: {}\nmetadata:\n  name: {}\n", api, kind, job.name);
  if (!job.queue.empty()) out += fmt::format("  labels: {{kueue.x-k8s.io/queue-name: {}}}\n", yaml_text(job.queue));
  return out + "spec:\n";
}

std::string replica(const std::string& name, i64 count, const std::string& restart, const std::string& pod) {
  return fmt::format("{}:\n  replicas: {}\n", name, count) +
         (restart.empty() ? "" : fmt::format("  restartPolicy: {}\n", restart)) + indented(pod, 2);
}

}  // namespace

std::string pytorch_job(const Job& job) {
  const std::string pod = pod_template(
      pod_spec(job, "OnFailure", container(job, "pytorch", launch_words(job, {"--run-id", job.name}), true)));
  std::string replicas = replica("Master", 1, "OnFailure", pod);
  if (job.nodes > 1) replicas += replica("Worker", job.nodes - 1, "OnFailure", pod);
  return head(job, "kubeflow.org/v1", "PyTorchJob") + "  pytorchReplicaSpecs:\n" + indented(replicas, 4);
}

// The runtime brings pods and the variables of the nodes. Kubeflow Trainer has patches of it from 2.2 on.
std::string train_job(const Job& job) {
  const std::string trainer = fmt::format(
      "image: {}\nnumNodes: {}\nnumProcPerNode: {}\ncommand:\n{}resourcesPerNode:\n  limits: "
      "{{nvidia.com/gpu: {}}}\n",
      yaml_text(job.image), job.nodes, job.gpus_per_node,
      indented(list_of(launch_words(job, {"--run-id", job.name})), 2), job.gpus_per_node);
  std::string out = head(job, "trainer.kubeflow.org/v1alpha1", "TrainJob") +
                    "  runtimeRef: {name: torch-distributed}\n  trainer:\n" + indented(trainer, 4);
  const std::string node =
      fmt::format("name: node\n{}\nvolumeMounts:\n{}", kNoMorePrivileges, indented(mounts_of(job), 2));
  const std::string spec =
      pod_settings() + "containers:\n" + item_of(node) + "volumes:\n" + indented(volumes_of(job), 2);
  const std::string batch = "name: node\ntemplate:\n  spec:\n" + indented(pod_template(spec), 4);
  return out + "  runtimePatches:\n    - manager: megalith/submit\n      trainingRuntimeSpec:\n        template:\n" +
         "          spec:\n            replicatedJobs:\n" + indented(item_of(batch), 12);
}

std::string job_set(const Job& job) {
  const std::string endpoint = fmt::format("{0}-node-0-0.{0}:{1}", job.name, kPort);
  const std::vector<std::string> words =
      launch_words(job, {"--nnodes", fmt::to_string(job.nodes), "--rdzv-endpoint", endpoint, "--run-id", job.name});
  const std::string pod = pod_template(pod_spec(job, "Never", container(job, "megalith", words, true)));
  const std::string batch =
      fmt::format("parallelism: {0}\ncompletions: {0}\ncompletionMode: Indexed\nbackoffLimit: 0\n", job.nodes) + pod;
  return head(job, "jobset.x-k8s.io/v1alpha2", "JobSet") +
         "  failurePolicy: {maxRestarts: 10}\n  network: {enableDNSHostnames: true}\n  replicatedJobs:\n"
         "    - name: node\n      replicas: 1\n      template:\n        spec:\n" +
         indented(batch, 10);
}

// mpirun starts the ranks directly, without a launch.
std::string mpi_job(const Job& job) {
  std::vector<std::string> words = {"mpirun", "-n", fmt::to_string(job.nodes * job.gpus_per_node), "megalith"};
  words.insert(words.end(), job.command.begin(), job.command.end());
  const std::string launcher = pod_template(pod_spec(job, "OnFailure", container(job, "launcher", words, false)));
  const std::string worker = pod_template(pod_spec(
      job, "OnFailure", container(job, "worker", {"/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"}, true)));
  return head(job, "kubeflow.org/v2beta1", "MPIJob") +
         fmt::format("  slotsPerWorker: {}\n  runPolicy: {{cleanPodPolicy: Running}}\n  mpiReplicaSpecs:\n",
                     job.gpus_per_node) +
         indented(replica("Launcher", 1, "", launcher) + replica("Worker", job.nodes, "", worker), 4);
}

}  // namespace megalith
