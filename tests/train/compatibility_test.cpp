#include "settings/compatibility.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "options_helpers.h"

namespace megalith {
namespace {

struct Example {
  std::string flags;    // after a small run that keeps every rule
  std::string message;  // the whole message
};

// One example at least for every row of the table, by the row's words.
const std::multimap<std::string, Example>& examples() {
  static const std::multimap<std::string, Example> all = {
      {"sizes of the model are in range",
       {"--num-layers -1", "--num-layers -1 is out of range: from 0 to 1048576 is wanted"}},
      {"sizes of the model are in range",
       {"--hidden-size 9223372036854775807",
        "--hidden-size 9223372036854775807 is out of range: from 0 to 2^40 is wanted"}},
      {"sizes of the model are in range",
       {"--make-vocab-size-divisible-by 0",
        "--make-vocab-size-divisible-by 0 is out of range: from 1 to 2^40 is wanted"}},
      {"sizes of the run are in range",
       {"--log-interval 0", "--log-interval 0 is out of range: from 1 to 2^40 is wanted"}},
      {"all required flags are given",
       {"--num-layers 0 --lr 0 --seq-length 0", "missing required flags: --num-layers, --seq-length"}},
      {"all required flags are given",
       {"--train-iters 0", "missing required flags: --train-iters (or --train-samples)"}},
      {"num-attention-heads divides hidden-size, unless kv-channels is given",
       {"--num-attention-heads 5",
        "--hidden-size 64 is not divisible by --num-attention-heads 5: change one, or give the head width by "
        "--kv-channels"}},
      {"num-query-groups divides num-attention-heads",
       {"--num-query-groups 3",
        "--num-attention-heads 4 is not divisible by --num-query-groups 3: give a divisor of the heads"}},
      {"num-query-groups divides num-attention-heads",
       {"--num-query-groups 8",
        "--num-attention-heads 4 is not divisible by --num-query-groups 8: give a divisor of the heads"}},
      {"max-position-embeddings is at least seq-length",
       {"--max-position-embeddings 16", "--max-position-embeddings 16 is less than --seq-length 32: raise it"}},
      {"with swiglu, hidden-size is large enough for a default MLP width",
       {"--hidden-size 16 --swiglu",
        "--hidden-size 16 with --swiglu leaves an MLP of width 0: give --ffn-hidden-size"}},
      {"one activation is given",
       {"--swiglu --squared-relu", "--swiglu and --squared-relu contradict each other: give one activation"}},
      {"one kind of positions is given",
       {"--use-rotary-position-embeddings --position-embedding-type alibi",
        "--use-rotary-position-embeddings and --position-embedding-type contradict each other: give one kind of "
        "positions"}},
      {"rotary-percent is more than 0 and at most 1",
       {"--rotary-percent 1.5", "--rotary-percent 1.5 is out of range: more than 0 and at most 1 is wanted"}},
      {"the rotated part of a head is whole pairs",
       {"--position-embedding-type rope --kv-channels 7",
        "rope rotates pairs, but 7 of the 7 channels of a head are to be rotated: an even number is wanted, "
        "or an odd one with a channel left to make it even; change --kv-channels or --rotary-percent"}},
      {"the rotated part of a head is whole pairs",
       {"--position-embedding-type rope --rotary-percent 0.01",
        "rope rotates pairs, but 0 of the 16 channels of a head are to be rotated: an even number is wanted, "
        "or an odd one with a channel left to make it even; change --kv-channels or --rotary-percent"}},
      {"rotary numbers are positive", {"--rotary-base 0", "--rotary-base 0 must be positive"}},
      {"rotary numbers are positive",
       {"--rotary-seq-len-interpolation-factor -1", "--rotary-seq-len-interpolation-factor -1 must be positive"}},
      {"rope scaling comes with rope",
       {"--use-rope-scaling", "--use-rope-scaling needs --position-embedding-type rope"}},
      {"rope scaling factors are positive and in order",
       {"--rope-low-freq-factor 4",
        "rope scaling needs positive factors with low < high: --rope-scaling-factor 8, --rope-low-freq-factor 4, "
        "--rope-high-freq-factor 4"}},
      {"rotary flags come with rope",
       {"--rotary-base 500000", "--rotary-base has no effect without --position-embedding-type rope"}},
      {"parallel-shared-norm comes with parallel-residual",
       {"--parallel-shared-norm", "--parallel-shared-norm needs --parallel-residual"}},
      {"dropout is from 0 to below 1",
       {"--attention-dropout 1", "--attention-dropout 1 is out of range: from 0 to below 1 is wanted"}},
      {"dropout is from 0 to below 1",
       {"--hidden-dropout -0.1", "--hidden-dropout -0.1 is out of range: from 0 to below 1 is wanted"}},
      {"norm-epsilon is positive, deviations of initial weights are not negative",
       {"--norm-epsilon 0", "--norm-epsilon 0 must be positive"}},
      {"norm-epsilon is positive, deviations of initial weights are not negative",
       {"--init-method-std -1", "--init-method-std -1 must not be negative"}},
      {"norm-epsilon is positive, deviations of initial weights are not negative",
       {"--embedding-init-method-std -1", "--embedding-init-method-std -1 must not be negative"}},
      {"fp32-residual-connection comes with bf16",
       {"--fp32-residual-connection",
        "--fp32-residual-connection has no effect without --bf16: all is computed in f32"}},
      {"scale-alibi comes with alibi",
       {"--scale-alibi", "--scale-alibi has no effect without --position-embedding-type alibi"}},
      {"padded-vocab-size is at least the vocabulary",
       {"--vocab-size 100 --padded-vocab-size 99",
        "--padded-vocab-size 99 is less than the 100 tokens of the vocabulary: leave it out or raise it"}},
      {"train-iters and train-samples are not both given",
       {"--train-samples 100", "--train-iters 10 and --train-samples 100 exclude each other: give one"}},
      {"schedules are in the unit of the run, iterations or samples",
       {"--train-iters 0 --train-samples 100 --lr-decay-iters 5",
        "--lr-decay-iters 5 with --train-samples: give --lr-decay-samples"}},
      {"schedules are in the unit of the run, iterations or samples",
       {"--lr-warmup-samples 5", "--lr-warmup-samples 5 with --train-iters: give --lr-warmup-iters"}},
      {"warm-up is given once, as a fraction or as a length",
       {"--lr-warmup-fraction .1 --lr-warmup-iters 1",
        "--lr-warmup-fraction 0.1 and --lr-warmup-iters 1 exclude each other: give one"}},
      {"lr-warmup-fraction is from 0 to below 1",
       {"--lr-warmup-fraction 1", "--lr-warmup-fraction 1 is out of range: from 0 to below 1 is wanted"}},
      {"warm-up is shorter than the decay",
       {"--lr-warmup-iters 10",
        "--lr-warmup-iters 10 is not less than the 10 iters of the decay: shorten the warm-up"}},
      {"warm-up is shorter than the decay",
       {"--train-iters 0 --train-samples 100 --lr-decay-samples 50 --lr-warmup-samples 60",
        "--lr-warmup-samples 60 is not less than the 50 samples of the decay: shorten the warm-up"}},
      {"0 <= min-lr <= lr", {"--min-lr 1", "--min-lr 1 is more than --lr 0.001: lower it"}},
      {"0 <= min-lr <= lr", {"--lr -1", "--lr -1 must not be negative"}},
      {"0 <= min-lr <= lr", {"--min-lr -1", "--min-lr -1 must not be negative"}},
      {"growing batch sizes are given in one way, and make sense",
       {"--rampup-batch-size 2 2", "--rampup-batch-size has 2 values: want START INCREMENT SAMPLES"}},
      {"eval-global-batch-size is a multiple of the micro-batch size x data-parallel size",
       {"--eval-global-batch-size 5",
        "--eval-global-batch-size 5 is not divisible by --micro-batch-size 2 times data-parallel size 1: change one"}},
      {"multiple-validation-sets comes with full-validation, and its names with it",
       {"--validation-set-names a", "--validation-set-names needs --multiple-validation-sets: give both"}},
      {"skip-train has something to evaluate",
       {"--skip-train", "--skip-train evaluates what --load holds: give --load DIR"}},
      {"with growing batches the decay ends with the run",
       {"--rampup-batch-size 2 2 30 --global-batch-size 8",
        "the learning rate decays over 80 samples, iterations times the last batch size as in Megatron, but the run "
        "ends "
        "after 34: give --train-samples and --lr-decay-samples for a decay that ends with the run"}},
      {"0 <= decoupled-min-lr <= decoupled-lr",
       {"--decoupled-min-lr 1e-5", "--decoupled-min-lr has no effect without --decoupled-lr: give both or neither"}},
      {"0 <= lr-warmup-init <= lr",
       {"--lr-warmup-init 1", "--lr-warmup-init 1 is out of range: from 0 to --lr 0.001 is wanted"}},
      {"WSD has a decay length within the decay",
       {"--lr-decay-style WSD",
        "--lr-decay-style WSD needs --lr-wsd-decay-iters from 1 to the 10 iters of the decay, not 0"}},
      {"WSD has a decay length within the decay",
       {"--lr-decay-style WSD --lr-wsd-decay-iters 11",
        "--lr-decay-style WSD needs --lr-wsd-decay-iters from 1 to the 10 iters of the decay, not 11"}},
      {"WSD flags come with WSD",
       {"--lr-wsd-decay-iters 5", "--lr-wsd-decay-iters has no effect without --lr-decay-style WSD"}},
      {"start- and end-weight-decay are given exactly when the weight decay moves",
       {"--start-weight-decay 0",
        "--start-weight-decay and --end-weight-decay need --weight-decay-incr-style linear or cosine"}},
      {"start- and end-weight-decay are given exactly when the weight decay moves",
       {"--weight-decay-incr-style cosine --end-weight-decay 1",
        "--weight-decay-incr-style linear and cosine need both --start-weight-decay and --end-weight-decay"}},
      {"weight decay is not negative and does not fall",
       {"--weight-decay-incr-style cosine --start-weight-decay 1 --end-weight-decay 0.5",
        "--start-weight-decay 1 and --end-weight-decay 0.5: from 0 on and not falling is wanted"}},
      {"weight decay is not negative and does not fall",
       {"--weight-decay -1", "--weight-decay -1 must not be negative"}},
      {"numbers of the optimizer are in range",
       {"--adam-beta1 1", "--adam-beta1 1 is out of range: from 0 to below 1 is wanted"}},
      {"numbers of the optimizer are in range",
       {"--adam-beta2 -1", "--adam-beta2 -1 is out of range: from 0 to below 1 is wanted"}},
      {"numbers of the optimizer are in range",
       {"--sgd-momentum 1", "--sgd-momentum 1 is out of range: from 0 to below 1 is wanted"}},
      {"numbers of the optimizer are in range", {"--adam-eps 0", "--adam-eps 0 must be positive"}},
      {"numbers of the optimizer are in range",
       {"--clip-grad -1", "--clip-grad -1 must not be negative (0: no clipping)"}},
      {"flags about offloading come with optimizer-cpu-offload",
       {"--overlap-cpu-optimizer-d2h-h2d",
        "--overlap-cpu-optimizer-d2h-h2d has no effect without --optimizer-cpu-offload"}},
      {"flags about offloading come with optimizer-cpu-offload",
       {"--optimizer-offload-fraction 0.5",
        "--optimizer-offload-fraction has no effect without --optimizer-cpu-offload"}},
      {"optimizer-offload-fraction is from 0 to 1",
       {"--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d --optimizer-offload-fraction 1.5",
        "--optimizer-offload-fraction 1.5 is out of range: from 0 to 1 is wanted"}},
      {"optimizer-cpu-offload comes with adam",
       {"--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d --optimizer sgd",
        "--optimizer-cpu-offload is for the state of adam, not sgd: leave it out, or use --optimizer adam"}},
      {"optimizer-cpu-offload comes with overlap-cpu-optimizer-d2h-h2d",
       {"--cpu-offload-optimizer",
        "--optimizer-cpu-offload without --overlap-cpu-optimizer-d2h-h2d: on a GPU state goes there and back in turn, "
        "which takes twice as long: add it"}},
      {"one source of the schedule on resume",
       {"--override-opt_param-scheduler --use-checkpoint-opt_param-scheduler",
        "--override-opt-param-scheduler and --use-checkpoint-opt-param-scheduler exclude each other: give one"}},
      {"parallel sizes are at least 1",
       {"--context-parallel-size 0", "--context-parallel-size 0 is out of range: give 1 or more"}},
      {"parallel sizes are at least 1",
       {"--tensor-model-parallel-size -2", "--tensor-model-parallel-size -2 is out of range: give 1 or more"}},
      {"parallel sizes are at least 1", {"--dry-run --world-size 0", "--world-size 0 is out of range: give 1 or more"}},
      {"parallel sizes are at least 1",
       {"--tensor-model-parallel-size 9223372036854775807",
        "--tensor-model-parallel-size 9223372036854775807 is out of range: give 1 or more"}},
      {"world-size comes with dry-run",
       {"--world-size 2", "--world-size is for --dry-run: in a run the launcher says how many ranks there are"}},
      {"the number of ranks is a multiple of tensor x pipeline x context",
       {"--tensor-model-parallel-size 2",
        "1 ranks are not divisible by tensor 2 x pipeline 1 x context 1 = 2: start a multiple of 2 ranks, or change "
        "a "
        "size"}},
      {"the number of ranks is a multiple of tensor x pipeline x context",
       {"--dry-run --world-size 6 --tensor-model-parallel-size 2 --context-parallel-size 2",
        "6 ranks are not divisible by tensor 2 x pipeline 1 x context 2 = 4: start a multiple of 4 ranks, or change "
        "a "
        "size"}},
      {"num-attention-heads is a multiple of the tensor-parallel size",
       {"--dry-run --world-size 8 --tensor-model-parallel-size 8",
        "--num-attention-heads 4 is not a multiple of --tensor-model-parallel-size 8: use 4 or another divisor of "
        "the "
        "heads"}},
      {"num-query-groups is a multiple or divisor of the tensor-parallel size",
       {"--dry-run --world-size 6 --tensor-model-parallel-size 6 --num-attention-heads 12 --hidden-size 48 "
        "--num-query-groups 4",
        "--num-query-groups 4 is neither a multiple nor a divisor of --tensor-model-parallel-size 6: use 2 for the "
        "latter"}},
      {"ffn-hidden-size is a multiple of the tensor-parallel size",
       {"--dry-run --world-size 4 --tensor-model-parallel-size 4 --ffn-hidden-size 6",
        "--ffn-hidden-size 6 is not a multiple of --tensor-model-parallel-size 4: use 2 for the latter"}},
      {"seq-length is a multiple of 2 x context-parallel size",
       {"--dry-run --world-size 5 --context-parallel-size 5",
        "--seq-length 32 is not a multiple of 2 x --context-parallel-size 5: each rank takes two chunks; use a "
        "--seq-length of 40"}},
      {"with sequence-parallel, seq-length is a multiple of tensor x context",
       {"--dry-run --world-size 4 --tensor-model-parallel-size 4 --seq-length 34 --sequence-parallel",
        "--sequence-parallel: --seq-length 34 is not a multiple of tensor 4 x context 1 = 4 ranks: change one"}},
      {"with cp-comm-type a2a, a rank's KV groups are a multiple of the context-parallel size",
       {"--dry-run --world-size 4 --tensor-model-parallel-size 2 --context-parallel-size 2 --num-query-groups 2 "
        "--cp-comm-type a2a",
        "--cp-comm-type a2a splits the 1 KV groups of a tensor-parallel rank over --context-parallel-size 2, which "
        "does not divide: use all_gather"}},
      {"log-num-zeros-in-grad counts gradients of one data-parallel rank",
       {"--dry-run --world-size 2 --log-num-zeros-in-grad",
        "--log-num-zeros-in-grad has no effect: zeros in gradients of several data- or context-parallel ranks are not "
        "counted yet"}},
      {"interleaving is given in one way",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
        "--num-layers-per-virtual-pipeline-stage 1 --num-layers 4 --global-batch-size 8",
        "--num-layers-per-virtual-pipeline-stage 1 and --num-virtual-stages-per-pipeline-rank 2 say the same: give "
        "one"}},
      {"stages are drawn or given by numbers",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et|tL --num-layers "
        "2 "
        "--decoder-last-pipeline-num-layers 1",
        "--pipeline-model-parallel-layout says all about the stages: leave out --decoder-last-pipeline-num-layers"}},
      {"layers and micro-batches can be shared out over the pipeline",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et|tL --num-layers "
        "4",
        "--pipeline-model-parallel-layout 'Et|tL' has 2 layers (t), --num-layers is 4: they must agree"}},
      {"layers and micro-batches can be shared out over the pipeline",
       {"--pipeline-model-parallel-layout Et|tL --num-layers 2",
        "2 virtual stages a rank need at least 2 pipeline stages, there is 1: raise the pipeline size or take 1 "
        "virtual "
        "stage"}},
      {"layers and micro-batches can be shared out over the pipeline",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 3",
        "3 layers do not divide by 2 pipeline stages: --pipeline-model-parallel-layout auto shares them out, or take a "
        "multiple, --decoder-first-pipeline-num-layers or --decoder-last-pipeline-num-layers"}},
      {"layers and micro-batches can be shared out over the pipeline",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 4 --global-batch-size 6 "
        "--num-virtual-stages-per-pipeline-rank 2",
        "3 micro-batches in groups of 2 leave a last group of 1, fewer than the 2 pipeline stages: choose a group "
        "or "
        "batch size that leaves none or at least 2"}},
      {"layers and micro-batches can be shared out over the pipeline",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 4 --global-batch-size 8 "
        "--num-virtual-stages-per-pipeline-rank 2 --microbatch-group-size-per-virtual-pipeline-stage 5",
        "groups of 5 micro-batches a virtual stage: choose from 2 (pipeline stages) to 4 (micro-batches)"}},
      {"microbatch-group-size-per-virtual-pipeline-stage comes with virtual stages",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 4 "
        "--microbatch-group-size-per-virtual-pipeline-stage 2",
        "--microbatch-group-size-per-virtual-pipeline-stage 2 has no effect where a rank has one piece of the model: "
        "leave it out"}},
      {"a step has as many micro-batches as pipeline stages",
       {"--dry-run --world-size 2 --pipeline-model-parallel-size 2",
        "a step has 1 micro-batch for 2 pipeline stages, so stages wait for most of it: raise --global-batch-size 2 to "
        "16 or more"}},
      {"flags about ranks that share work come with such ranks",
       {"--tp-comm-overlap", "--tp-comm-overlap has no effect with --tensor-model-parallel-size 1"}},
      {"flags about ranks that share work come with such ranks",
       {"--virtual-pipeline-model-parallel-size 2",
        "--num-virtual-stages-per-pipeline-rank has no effect with --pipeline-model-parallel-size 1"}},
      {"flags about ranks that share work come with such ranks",
       {"--overlap-grad-reduce --use-distributed-optimizer",
        "--use-distributed-optimizer, --overlap-grad-reduce: no effect where no ranks share a weight's gradient"}},
      {"overlap-param-gather comes with use-distributed-optimizer",
       {"--dry-run --world-size 2 --overlap-param-gather",
        "--overlap-param-gather has no effect without --use-distributed-optimizer: each rank updates all weights "
        "itself"}},
      {"sequence-parallel comes with tensor parallelism",
       {"--sequence-parallel", "--sequence-parallel has no effect with --tensor-model-parallel-size 1"}},
      {"global-batch-size is a multiple of micro-batch-size x data-parallel size",
       {"--global-batch-size 5",
        "--global-batch-size 5 is not divisible by --micro-batch-size 2 times data-parallel size 1: change one"}},
      {"global-batch-size is a multiple of micro-batch-size x data-parallel size",
       {"--dry-run --world-size 4 --global-batch-size 12 --context-parallel-size 2 --micro-batch-size 4",
        "--global-batch-size 12 is not divisible by --micro-batch-size 4 times data-parallel size 2: change one"}},
      {"train-samples is at least one global batch",
       {"--train-iters 0 --train-samples 7 --global-batch-size 8",
        "--train-samples 7 is less than one --global-batch-size 8: nothing would be trained"}},
      {"--profile has steps to profile",
       {"--profile --profile-step-start 12", "--profile-step-end 12 must be above --profile-step-start 12"}},
      {"the seed is below 2^32",
       {"--seed 4294967296", "--seed 4294967296 is out of range: the order of samples needs one below 2^32"}},
      {"there is one source of data",
       {"--data-path x",
        "--data-path, --train/valid/test-data-path, --data-args-path, --per-split-data-args-path and --mock-data "
        "exclude each other: give one of them"}},
      {"there is one source of data",
       {"--mock-data=false --train-data-path x --split 1,1,1",
        "--split 1,1,1 has no meaning where each split has its own data: leave it out"}},
      {"sft has files of chats",
       {"--sft --tokenizer-type ByteTokenizer",
        "--sft needs chats and --mock-data makes up plain documents: give --data-path FILE.jsonl"}},
      {"sft has a tokenizer",
       {"--sft --mock-data=false --data-path x.jsonl",
        "--sft needs a tokenizer: give --tokenizer-type HuggingFaceTokenizer --tokenizer-model DIR"}},
      {"flags about chats come with sft", {"--sft-date 2026-01-31", "--sft-date has no effect without --sft"}},
      {"fim-data has documents of text",
       {"--fim-data --tokenizer-type ByteTokenizer",
        "--fim-data needs documents of text, which --mock-data does not have: leave one of them out"}},
      {"fim-data has a tokenizer",
       {"--fim-data --mock-data=false --data-path x",
        "--fim-data needs the data's tokenizer: give --tokenizer-type and what belongs to it"}},
      {"rates of fim-data are from 0 to 1",
       {"--fim-data --mock-data=false --data-path x --tokenizer-type ByteTokenizer --fim-spm-rate 1.5",
        "--fim-spm-rate 1.5 is out of range: from 0 to 1 is wanted"}},
      {"fim-split-sample comes with fim-fragment-rate",
       {"--fim-data --mock-data=false --data-path x --tokenizer-type ByteTokenizer --fim-split-sample <file>",
        "--fim-split-sample and --fim-fragment-rate belong together: give both or neither"}},
      {"flags about fim come with fim-data", {"--fim-rate 0.9", "--fim-rate has no effect without --fim-data"}},
      {"mid-level-dataset-surplus is not negative",
       {"--mid-level-dataset-surplus -1", "--mid-level-dataset-surplus -1 must not be negative"}},
      {"exit-duration-in-mins is not negative",
       {"--exit-duration-in-mins -1", "--exit-duration-in-mins -1 must not be negative (0: never)"}},
      {"save and load have names", {"--save=", "--save '': give a directory, or leave it out"}},
      {"save and load have names", {"--load=", "--load '': give a directory, or leave it out"}},
      {"save comes with save-interval",
       {"--save x", "--save x needs --save-interval, the iterations between checkpoints"}},
      {"flags about saving come with save",
       {"--async-save", "--async-save has no effect without --save: nothing will be saved"}},
      {"save-retain-interval is a multiple of save-interval",
       {"--save x --save-interval 5 --save-retain-interval 7",
        "--save-retain-interval 7 is not a multiple of --save-interval 5"}},
      {"num-workers is a small number",
       {"--num-workers 100000", "--num-workers 100000: want 0 to 256 threads; a few read as fast as any disk"}},
      {"what is saved as torch_dist is a model that Megatron-LM knows",
       {"--save x --save-interval 5 --ckpt-format torch_dist --position-embedding-type alibi",
        "--ckpt-format torch_dist: Megatron-LM does not know ALiBi: it would make another model of these checkpoints"}},
      {"ckpt-format is one that we write",
       {"--save x --save-interval 5 --ckpt-format torch",
        "--ckpt-format torch is only read: checkpoints are saved as native (--ckpt-format torch_dist is for "
        "Megatron)"}},
      {"sums of gradients have one precision",
       {"--dry-run --world-size 2 --grad-reduce-in-bf16 --accumulate-allreduce-grads-in-fp32",
        "--grad-reduce-in-bf16 and --accumulate-allreduce-grads-in-fp32 contradict each other: give one"}},
      {"grad-reduce-in-bf16 comes with ranks that share gradients",
       {"--grad-reduce-in-bf16", "--grad-reduce-in-bf16 has no effect where no ranks share a gradient: leave it out"}},
      {"flags about stragglers come with log-straggler, which is for several ranks",
       {"--straggler-minmax-count 2", "--straggler-minmax-count has no effect without --log-straggler"}},
      {"flags about stragglers come with log-straggler, which is for several ranks",
       {"--log-straggler", "--log-straggler has no effect on a single rank: there is none to compare with"}},
      {"flags about stragglers come with log-straggler, which is for several ranks",
       {"--log-straggler --disable-straggler-on-startup",
        "--disable-straggler-on-startup: --log-straggler reports nothing, as nothing here switches it on later"}},
      {"non-persistent checkpoints have an interval and a place",
       {"--save not-there --save-interval 5 --non-persistent-save-interval 2 --non-persistent-ckpt-type global "
        "--non-persistent-global-ckpt-dir ./not-there/",
        "--non-persistent-global-ckpt-dir ./not-there/ is --save: of the copies only the latest stays, so checkpoints "
        "would be deleted there: choose another directory"}},
      {"non-persistent checkpoints have an interval and a place",
       {"--non-persistent-save-interval 2 --non-persistent-ckpt-type global",
        "--non-persistent-save-interval needs --save, where lasting checkpoints go"}},
      {"non-persistent checkpoints have an interval and a place",
       {"--save x --save-interval 5 --non-persistent-ckpt-type global",
        "--non-persistent-save-interval and --non-persistent-ckpt-type come together: give both, or neither"}},
      {"non-persistent checkpoints have an interval and a place",
       {"--save x --save-interval 5 --non-persistent-save-interval 2 --non-persistent-ckpt-type local",
        "--non-persistent-ckpt-type local needs --non-persistent-local-ckpt-dir, a directory on each host"}},
      {"dist-ckpt-workers is a small number", {"--dist-ckpt-workers 0", "--dist-ckpt-workers 0: want 1 to 64"}},
      {"flags about loading come with load",
       {"--finetune", "--finetune has no effect without --load: training starts from random weights"}},
      {"full recomputation is of some of the layers",
       {"--recompute-granularity full --recompute-method block --recompute-num-layers 3",
        "--recompute-granularity full needs --recompute-num-layers from 1 to --num-layers 2; it is 3"}},
      {"full recomputation is of some of the layers",
       {"--recompute-granularity full --recompute-method uniform --recompute-num-layers 0",
        "--recompute-granularity full needs --recompute-num-layers from 1 to --num-layers 2; it is 0"}},
      {"selective recomputation has no method and no number of layers",
       {"--recompute-granularity selective --recompute-modules mlp --recompute-num-layers 1",
        "--recompute-method and --recompute-num-layers are for --recompute-granularity full: leave them out"}},
      {"recompute-modules are parts of the model",
       {"--recompute-granularity selective --recompute-modules mlp moe",
        "--recompute-modules moe: there is no such part here: core_attn, mlp and layernorm are there"}},
      {"flags about recomputation come with its granularity",
       {"--recompute-method block",
        "--recompute-method and --recompute-num-layers have no effect without --recompute-granularity full"}},
      {"flags about recomputation come with its granularity",
       {"--recompute-modules mlp", "--recompute-modules has no effect without --recompute-granularity selective"}},
      {"recompute-modules name what can be saved",
       {"--recompute-activations",
        "--recompute-modules core_attn saves nothing: attention computes its matrix again as it is; mlp and layernorm "
        "save memory"}},
  };
  return all;
}

TEST(Compatibility, EveryRuleHasAnExampleThatBreaksItAlone) {
  for (const Rule& rule : compatibility_rules()) {
    const auto [begin, end] = examples().equal_range(std::string(rule.what));
    EXPECT_NE(begin, end) << "no example breaks the rule: " << rule.what;
    for (auto it = begin; it != end; ++it) {
      const Example& example = it->second;
      if (rule.action == Rule::Action::refuse) {
        EXPECT_EQ(refusal_of(kSmallRun + example.flags), example.message) << rule.what;
      } else {
        const auto notes = options_of(kSmallRun + example.flags).notes;
        EXPECT_EQ(std::count(notes.begin(), notes.end(), "warning: " + example.message), 1) << rule.what;
      }
    }
  }
}

TEST(Compatibility, EveryExampleBelongsToARule) {
  for (const auto& [what, example] : examples()) {
    const auto& rules = compatibility_rules();
    EXPECT_TRUE(std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.what == what; })) << what;
  }
}

TEST(Compatibility, TheSmallRunBreaksNone) {
  const Options options = options_of(kSmallRun);
  for (const Rule& rule : compatibility_rules()) EXPECT_EQ(rule.broken(options), "") << rule.what;
}

TEST(Compatibility, AllMissingFlagsAreNamedInOneLine) {
  EXPECT_EQ(
      refusal_of(""),
      "missing required flags: --num-layers, --hidden-size, --num-attention-heads, --seq-length, --micro-batch-size, "
      "--train-iters (or --train-samples), --lr, --data-path (or --mock-data)");
}

// One answer for all, and nothing of what only follows from another mistake.
TEST(Compatibility, EveryBrokenRuleIsTold) {
  const auto mistakes = [](const std::string& flags) {
    const std::string text = refusal_of(kSmallRun + flags);
    std::vector<std::string> lines;
    size_t at = text.find(" things stop this: ");
    for (at = at == std::string::npos ? 0 : at + 19; at < text.size();) {
      const size_t end = std::min(text.find("; ", at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 2;
    }
    return lines;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(mistakes("--num-query-groups 3 --adam-beta1 2 --split 1 --sft"),
            (Lines{"--num-attention-heads 4 is not divisible by --num-query-groups 3: give a divisor of the heads",
                   "--adam-beta1 2 is out of range: from 0 to below 1 is wanted",
                   "--sft needs chats and --mock-data makes up plain documents: give --data-path FILE.jsonl",
                   "--sft needs a tokenizer: give --tokenizer-type HuggingFaceTokenizer --tokenizer-model DIR"}));
  // --min-lr is more than an --lr that could not be read; heads and width follow from sizes out of range.
  EXPECT_EQ(mistakes("--lr fast --min-lr 1 --num-attention-heads -3 --hidden-size 9223372036854775807"),
            (Lines{"--lr: 'fast' is not a number, such as 0.1 or 6e-4",
                   "--hidden-size 9223372036854775807 is out of range: from 0 to 2^40 is wanted",
                   "--num-attention-heads -3 is out of range: from 0 to 2^40 is wanted"}));
  EXPECT_EQ(mistakes("--micro-batch-size 0 --world-size 3 --dry-run --tensor-model-parallel-size 2").size(), 2u);
  EXPECT_EQ(refusal_of("--min-lr 1 --num-layers x").find("--lr 0"), std::string::npos);
}

// Whatever flags are missing or odd, rules answer: they do not divide by zero.
TEST(Compatibility, RulesHoldOnAnyNumbers) {
  std::mt19937 random(7);
  Options options;
  config::FieldList fields = config::fields_of(options);
  std::vector<std::string> flags;
  for (const config::Field& field : fields.all())
    if (std::holds_alternative<i64*>(field.ref)) flags.push_back(field.spellings[0].flag);
  for (int n = 0; n < 3000; ++n) {
    std::string line;
    const auto value = [&] { return std::array{"-1", "0", "1", "2", "3", "64", "1099511627776"}[random() % 7]; };
    for (unsigned i = random() % 8; i > 0; --i) line += fmt::format("{} {} ", flags[random() % flags.size()], value());
    for (const char* more :
         {"--dry-run ", "--sequence-parallel ", "--swiglu ", "--pipeline-model-parallel-layout auto "})
      if (random() % 2) line += more;
    SCOPED_TRACE(line);
    (void)refusal_of(random() % 2 ? kSmallRun + line : line);
  }
}

TEST(Compatibility, ModelAloneIsCheckedWithoutTheRun) {
  ModelConfig model = read_line(kSmallRun).model;
  model.resolve();
  EXPECT_NO_THROW(check_model(model));
  model.num_query_groups = 3;
  EXPECT_THROW(check_model(model), Error);
}

TEST(Compatibility, PageListsEveryRule) {
  const std::string page = compatibility_markdown();
  for (const Rule& rule : compatibility_rules()) EXPECT_NE(page.find(rule.what), std::string::npos) << rule.what;
}

}  // namespace
}  // namespace megalith
