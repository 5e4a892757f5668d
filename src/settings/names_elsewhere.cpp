// Names that other programs, such as transformers, torchtitan or NeMo, have for our flags. They are refused, with the
// flag to write: an accepted name would hide that other defaults hold here.
#include "settings/megatron_rows.h"

namespace megalith::megatron {

constexpr Elsewhere kElsewhere[] = {
    {"", "--lr", "--learning-rate= --max-lr= --base-lr="},
    {"", "--min-lr", "--end-lr= --lr-min="},
    {"", "--train-iters",
     "--max-steps= --num-steps= --training-steps= --total-steps= --train-steps= --steps= --iters="},
    {"", "--lr-warmup-iters", "--warmup-steps= --num-warmup-steps= --lr-warmup-steps= --warmup-iters="},
    {"", "--lr-warmup-fraction", "--warmup-ratio= --lr-warmup-ratio="},
    {"", "--lr-decay-style", "--lr-scheduler-type= --lr-scheduler= --lr-schedule= --scheduler="},
    {"", "--micro-batch-size",
     "--per-device-train-batch-size= --local-batch-size= --train-micro-batch-size-per-gpu= --batch-size-per-gpu= "
     "--mbs="},
    {"", "--global-batch-size", "--train-batch-size= --gbs="},
    {"the number of micro-batches follows from --global-batch-size, the sum over ranks", "",
     "--gradient-accumulation-steps= --grad-accum-steps= --accumulate-grad-batches="},
    {"", "--clip-grad", "--max-grad-norm= --max-norm= --gradient-clipping= --gradient-clip-val= --grad-clip="},
    {"", "--adam-eps", "--adam-epsilon= --eps="},
    {"", "--adam-beta1", "--beta1="},
    {"", "--adam-beta2", "--beta2="},
    {"", "--optimizer", "--optim= --optimizer-type="},
    {"", "--num-layers", "--num-hidden-layers= --n-layer= --n-layers="},
    {"", "--hidden-size", "--n-embd= --d-model= --embed-dim="},
    {"", "--num-attention-heads", "--n-head= --n-heads= --num-heads="},
    {"", "--num-query-groups", "--num-kv-heads= --n-kv-heads="},
    {"", "--kv-channels", "--head-dim="},
    {"", "--ffn-hidden-size", "--intermediate-size= --d-ff= --ffn-dim="},
    {"", "--norm-epsilon", "--rms-norm-eps= --layer-norm-eps= --layer-norm-epsilon= --norm-eps="},
    {"", "--activation", "--hidden-act= --activation-function="},
    {"", "--rotary-base", "--rope-theta= --rope-base="},
    {"", "--seq-length", "--block-size= --max-length= --context-length= --sequence-length= --n-ctx="},
    {"give both of --hidden-dropout and --attention-dropout", "", "--dropout="},
    {"it is fp32 unless --bf16 or --fp16 is given", "",
     "--dtype= --torch-dtype= --params-dtype= --precision= --mixed-precision= --amp --fp32"},
    {"", "--tensor-model-parallel-size", "--tp= --tp-size= --tensor-parallel-size= --tensor-parallel-degree="},
    {"", "--pipeline-model-parallel-size", "--pp= --pp-size= --pipeline-parallel-size= --pipeline-parallel-degree="},
    {"", "--context-parallel-size", "--cp= --cp-size= --context-parallel-degree="},
    {"", "--expert-model-parallel-size", "--ep= --ep-size= --expert-parallel-size= --expert-parallel-degree="},
    {"the data-parallel size follows from the number of ranks", "", "--dp= --dp-size= --data-parallel-size="},
    {"the launcher starts the ranks: megalith launch, torchrun --no-python, mpirun or srun", "",
     "--num-gpus= --gpus= --devices= --num-nodes= --nnodes= --nproc= --nproc-per-node= --gpus-per-node="},
    {"a run's length is --train-iters or --train-samples", "", "--num-train-epochs= --num-epochs= --max-epochs="},
    {"", "--recompute-granularity full", "--gradient-checkpointing --activation-checkpointing"},
    {"", "--save", "--output-dir= --checkpoint-dir= --ckpt-dir= --save-dir="},
    {"", "--save-interval", "--save-steps= --save-every= --checkpoint-interval="},
    {"", "--eval-interval", "--eval-steps= --eval-every="},
    {"", "--log-interval", "--logging-steps= --log-every="},
    {"", "--load", "--model-name-or-path= --resume-from-checkpoint= --resume-from= --load-dir="},
    {"", "--tokenizer-type HuggingFaceTokenizer --tokenizer-model", "--tokenizer= --tokenizer-path= --tokenizer-name="},
    {"adapters (LoRA) are not built", "", "--lora --use-lora --lora-r= --lora-rank= --lora-alpha= --lora-dropout="},
    {"each step is planned and fused ahead", "", "--compile --torch-compile"},
};

std::span<const Elsewhere> names_elsewhere() { return kElsewhere; }

}  // namespace megalith::megatron
