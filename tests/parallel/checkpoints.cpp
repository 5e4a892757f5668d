#include "tests/parallel/checkpoints.h"

#include <cmath>

#include "base/check.h"
#include "tests/parallel/saved.h"

namespace megalith::parity {

namespace {

// Layouts of one model. Each layout's checkpoint is loaded under each other layout.
const char* const kSaved[] = {"tp1",
                              "tp2",
                              "tp4 sp",
                              "cp2",
                              "dp4 distopt",
                              "tp2 dp2 sp distopt-overlap",
                              "pp2 micro2",
                              "pp4-zb",
                              "pp2-vp2 dp2 distopt-small",
                              "pp2-uneven tp2 cp2 distopt",
                              "cp2-a2a dp4"};

// A mixture of experts with every kind of parameter: a dense layer, router biases, a shared expert, multi-head latent
// attention, and a multi-token prediction module.
constexpr const char* kMixture =
    "--micro-batch-size 1 --position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear "
    "--num-experts 8 "
    "--moe-router-topk 2 --moe-ffn-hidden-size 24 --moe-layer-freq [0]+[1]*3 --moe-router-score-function sigmoid "
    "--moe-router-enable-expert-bias --moe-router-load-balancing-type seq_aux_loss --moe-aux-loss-coeff 1e-2 "
    "--moe-shared-expert-intermediate-size 16 --multi-latent-attention --q-lora-rank 12 --kv-lora-rank 8 --qk-head-dim "
    "4 --qk-pos-emb-head-dim 4 --v-head-dim 4 --qk-layernorm --rope-type rope --mtp-num-layers 1 ";
constexpr const char* kTensor = "--tensor-model-parallel-size 2 --sequence-parallel ";
constexpr const char* kOwn = "--expert-tensor-parallel-size 1 ";
constexpr const char* kDistributed = "--use-distributed-optimizer ";

std::vector<Layout> mixture_layouts() {
  const std::string ep = "--expert-model-parallel-size ", tensor = kTensor, own = kOwn, distributed = kDistributed;
  const auto of = [](const char* name, const std::string& ranks, int size) {
    return Layout{.name = name, .model = kMixture, .ranks = ranks, .size = size};
  };
  return {of("one rank", "", 1),
          of("dp4 distopt", distributed, 4),
          of("ep2 edp2 distopt", ep + "2 " + distributed, 4),
          of("ep8", ep + "8 ", 8),
          of("tp2 etp2 ep2", tensor + ep + "2 ", 4),
          of("tp2 etp1 ep4 edp2 distopt",
             tensor + own + ep + "4 " + distributed +
                 "--overlap-grad-reduce --overlap-param-gather --ddp-bucket-size 4000 ",
             8),
          of("pp2 tp2 etp1 ep2", tensor + own + ep + "2 --pipeline-model-parallel-size 2 ", 4),
          of("pp2-vp2 ep2 edp2 distopt",
             ep + "2 --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 " + distributed, 8)};
}

}  // namespace

// Saves a torch_dist checkpoint of each layout during training (--async-save). It must have the same bits as the native
// checkpoint. If all ranks hold the same weights, each rank must write an equal share, within 5%.
static int other_ways(const Hall& at, const std::vector<Layout>& all, const std::vector<std::string>& saved,
                      const std::string& common) {
  std::vector<Job> jobs;
  const auto dir = [&](size_t a) { return fmt::format("{}/dist-{}", at.folder, a); };
  for (size_t a = 0; a < all.size(); ++a)
    jobs.push_back({all[a].name,
                    all[a].model + all[a].ranks + common +
                        fmt::format("--train-iters 4 --save-interval 3 --exit-interval 4 --save {} "
                                    "--ckpt-format torch_dist --async-save",
                                    dir(a)),
                    all[a].size});
  run_jobs(at.ranks, jobs, at.folder);
  int bad = 0;
  for (size_t a = 0; a < all.size() && at.ranks.rank() == 0; ++a) {
    const std::string words = all[a].name, mine = saved[a] + "/iter_0000003";
    const int tensors = differing_tensors(mine, dir(a) + "/iter_0000003");
    const bool replicas =
        words.find("tp") == words.npos && words.find("pp") == words.npos && words.find("ep") == words.npos;
    const double more = replicas ? excess(mine, all[a].size) : 0;
    bad += tensors > 0 || more > 0.05;
    if (tensors > 0 || more > 0.05)
      at.say("FAIL  {}: {} tensors differ in torch_dist; a rank wrote {:.0f}% more than its share", all[a].name,
             tensors, 100 * more);
  }
  at.say("{} layouts saved as torch_dist beside the training: {} wrong", all.size(), bad);
  return bad;
}

// Loads each bf16 checkpoint under the next layout of the list. In bf16 the main weights hold the low bits that the
// bf16 weights lack. Only saved bits are compared. Losses are not, because another layout rounds sums in another order.
static int in_bf16(const Hall& at, const std::vector<Layout>& all, const std::string& common) {
  const auto saved = [&](size_t a) { return fmt::format("{}/bf16-{}", at.folder, a); };
  std::vector<Job> saves, loads;
  for (size_t a = 0; a < all.size(); ++a) {
    const Layout &here = all[a], &next = all[(a + 1) % all.size()];
    const std::string more = common + "--bf16 --train-iters 3 --save-interval 100 ";
    saves.push_back(
        {here.name,
         here.model + here.ranks + more + fmt::format("--save {}{}", saved(a), a % 2 == 1 ? " --async-save" : ""),
         here.size});
    loads.push_back({here.name + " -> " + next.name,
                     next.model + next.ranks + more + fmt::format("--load {} --save {}-next", saved(a), saved(a)),
                     next.size});
  }
  run_jobs(at.ranks, saves, at.folder);
  run_jobs(at.ranks, loads, at.folder);
  int bad = 0;
  for (size_t a = 0; a < all.size() && at.ranks.rank() == 0; ++a) {
    const int tensors = differing_tensors(saved(a) + "/iter_0000003", saved(a) + "-next/iter_0000003");
    bad += tensors > 0;
    if (tensors > 0) at.say("FAIL  in bf16 {}: {} tensors differ", loads[a].name, tensors);
  }
  at.say("{} ordered pairs of layouts in bf16: {} wrong", loads.size(), bad);
  return bad;
}

// Saves under each layout and loads under each other layout. Fails if there are fewer than `least` pairs.
static int every_pair(const Hall& at, const std::vector<Layout>& all, size_t least) {
  const std::string common = " --lr-decay-iters 4 --eval-iters 1 ";
  const auto saved = [&](size_t a) { return fmt::format("{}/saved-{}", at.folder, a); };
  const auto again = [&](size_t a, size_t b) { return fmt::format("{}/saved-{}-{}", at.folder, a, b); };
  std::vector<Job> whole, loads, steps;
  for (size_t a = 0; a < all.size(); ++a)
    whole.push_back({all[a].name,
                     all[a].model + all[a].ranks + common +
                         fmt::format("--train-iters 4 --exit-interval 4 --save {} --save-interval 3{}", saved(a),
                                     a % 2 == 1 ? " --async-save" : ""),
                     all[a].size});
  const std::vector<Outcome> uninterrupted = run_jobs(at.ranks, whole, at.folder);
  for (size_t a = 0; a < all.size(); ++a)
    for (size_t b = 0; b < all.size(); ++b) {
      if (a == b) continue;
      const std::string flags =
          all[b].model + all[b].ranks + common + fmt::format("--load {} --ckpt-step 3 ", saved(a));
      const std::string name = all[a].name + " -> " + all[b].name;
      // The plan of a layout does not depend on where the run loads from, or saves to.
      loads.push_back({.name = name,
                       .flags = flags + fmt::format("--train-iters 3 --save {} --save-interval 100", again(a, b)),
                       .size = all[b].size,
                       .plan = all[b].name});
      steps.push_back({.name = name, .flags = flags + "--train-iters 4", .size = all[b].size, .plan = all[b].name});
    }
  run_jobs(at.ranks, loads, at.folder);
  const std::vector<Outcome> fourth = run_jobs(at.ranks, steps, at.folder);
  int bad = 0;
  double worst = 0;
  for (size_t a = 0, pair = 0; a < all.size(); ++a)
    for (size_t b = 0; b < all.size(); ++b) {
      if (a == b) continue;
      const Outcome& o = fourth[pair++];
      const bool there = o.losses.size() == 1 && uninterrupted[a].losses.size() == 4;
      const double off = there ? std::abs(o.losses[0] / uninterrupted[a].losses[3] - 1) : 1;
      const int tensors = at.ranks.rank() == 0 ? differing_tensors(saved(a) + "/iter_0000003", again(a, b)) : 0;
      const bool good = off <= kTolerance && tensors == 0;
      bad += !good, worst = std::max(worst, off);
      if (!good)
        at.say("FAIL  {} -> {}: {} tensors differ, the next loss by {:.0e}", all[a].name, all[b].name, tensors, off);
    }
  std::vector<std::string> places;
  for (size_t a = 0; a < all.size(); ++a) places.push_back(saved(a));
  bad += other_ways(at, all, places, common) + in_bf16(at, all, common);
  at.say("{} ordered pairs of layouts: {} wrong; the next loss differs by {:.1e} at most", loads.size(), bad, worst);
  check(loads.size() >= least, "{} pairs: at least {} are wanted", loads.size(), least);
  return bad;
}

int checkpoints(const Hall& at) {
  std::vector<Layout> all;
  for (const char* words : kSaved) all.push_back(layout_of(std::string(words) + " llama groups2"));
  return every_pair(at, all, 100);
}

int expert_checkpoints(const Hall& at) { return every_pair(at, mixture_layouts(), 30); }

}  // namespace megalith::parity
