// The flags of other programs' conversions.
#include "cli/foreign/conversion_flags.h"

#include "cli/foreign/flag_words.h"

namespace megalith {
namespace {

struct RoleRow {
  FlagRole role;
  const char* flags;
};

constexpr RoleRow kRoles[] = {
    {FlagRole::load, "--load --load-dir --input-path --load-path --source-path --load-checkpoint-dir"},
    {FlagRole::save, "--save --save-dir --output-path --save-path --target-path"},
    {FlagRole::hf_model, "--hf-model --hf-model-id --hf-model-path --hf-model-name"},
    {FlagRole::megatron_path, "--megatron-path --megatron-ckpt-path --megatron-model-path --megatron-save-path"},
    {FlagRole::hf_path, "--hf-path --hf-ckpt-path --hf-save-path"},
    {FlagRole::reader, "--loader --source"},
    {FlagRole::writer, "--saver --target"},
    {FlagRole::to, "--to"},
    {FlagRole::bf16, "--bf16"},
    {FlagRole::fp16, "--fp16"},
    {FlagRole::dtype, "--dtype --torch-dtype --save-dtype --params-dtype"},
    {FlagRole::tokenizer, "--tokenizer-dir --tokenizer-model --hf-tokenizer-path --hf-tokenizer --tokenizer-path"},
    {FlagRole::vocab_size, "--true-vocab-size"},
    {FlagRole::model_type, "--model-type"},
    {FlagRole::checkpoint_type, "--checkpoint-type"},
    {FlagRole::ours, "--from --family --max-shard-size --vocab-size --ckpt-step --no-load-optim"},
};

struct Row {
  const char* why;
  const char* flags;
};

constexpr Row kWithoutEffect[] = {
    {"any layout reads any checkpoint",
     "--target-tensor-parallel-size --target-pipeline-parallel-size --target-expert-parallel-size "
     "--target-expert-tensor-parallel-size --target-context-parallel-size "
     "--target-num-layers-per-virtual-pipeline-stage "
     "--target-tensor-model-parallel-size --target-pipeline-model-parallel-size --target-expert-model-parallel-size "
     "--target-decoder-first-pipeline-num-layers --target-tp-size --target-pp-size --target-ep-size --target-tp "
     "--target-pp --target-ep --target-etp --target-vpp --target-cp --source-tp --source-pp --source-ep --source-etp "
     "--source-vpp --source-cp --source-tensor-parallel-size --source-pipeline-parallel-size "
     "--source-expert-parallel-size --tp --pp --ep --etp --vpp --cp --tp-size --pp-size --ep-size "
     "--tensor-model-parallel-size --pipeline-model-parallel-size --expert-model-parallel-size "
     "--expert-tensor-parallel-size --virtual-pipeline-model-parallel-size --context-parallel-size "
     "--num-layers-per-virtual-pipeline-stage --sequence-parallel --decoder-first-pipeline-num-layers "
     "--decoder-last-pipeline-num-layers"},
    {"the checkpoint itself has the model's shape",
     "--model-size --model-name --model --position-embedding-type --source-margs-file --vocab-file --merge-file "
     "--tokenizer-type "
     "--make-vocab-size-divisible-by --num-layers --hidden-size --num-attention-heads --num-experts "
     "--vocab-trim --use-rotary-position-embeddings --untie-embeddings-and-output-weights --megatron-config --config"},
    {"there is one implementation of the model, and no repository of another program is needed",
     "--loader-transformer-impl --saver-transformer-impl --transformer-impl --use-mcore-models --megatron-path "
     "--hf-repo-path --trust-remote-code --device-map --device --gpus --use-cpu-initialization"},
    {"a piece of bounded size is converted at a time",
     "--max-queue-size --low-memory-save --distributed-save --workers "
     "--no-progress --show-progress --distributed-timeout-minutes --save-every-n-ranks"},
    {"names and shapes are checked always",
     "--no-checking --test-logits --not-strict --strict --exit-on-missing-checkpoint"},
    {"no optimizer or random state is read here", "--no-load-rng --no-save-optim --no-save-rng"},
};

}  // namespace

FlagRole role_of(std::string_view flag) {
  for (const RoleRow& row : kRoles)
    if (is_among(flag, row.flags)) return row.role;
  return FlagRole::other;
}

bool is_own_conversion_flag(std::string_view flag) {
  return is_among(flag, "--load --save --to --dtype --tokenizer-dir") || role_of(flag) == FlagRole::ours;
}

const char* why_without_effect(std::string_view flag) {
  for (const Row& row : kWithoutEffect)
    if (is_among(flag, row.flags)) return row.why;
  return nullptr;
}

}  // namespace megalith
