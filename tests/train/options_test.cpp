#include "settings/options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/mistakes.h"
#include "config/file.h"
#include "config/show.h"
#include "options_helpers.h"
#include "settings/megatron_flags.h"

namespace megalith {
namespace {

bool contains(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(Options, DerivedValues) {
  const Options o = options_of(std::string(kSmallRun) + "--vocab-size 50257 --global-batch-size 8");
  EXPECT_EQ(o.model.ffn_hidden_size, 256);
  EXPECT_EQ(o.model.num_query_groups, 4);
  EXPECT_EQ(o.model.kv_channels, 16);
  EXPECT_EQ(o.model.max_position_embeddings, 32);
  EXPECT_EQ(o.model.padded_vocab_size, 50304);
  EXPECT_EQ(o.train.global_batch_size, 8);
  EXPECT_EQ(options_of(kSmallRun).train.global_batch_size, 2);
  EXPECT_EQ(o.tokenizer.vocab_size, 50257);
}

TEST(Options, MegatronsFormulas) {
  ModelConfig llama{};
  llama.hidden_size = 4096;
  llama.activation = Activation::swiglu;
  llama.resolve();
  EXPECT_EQ(llama.ffn_hidden_size, 10880);  // int(16384 * 2/3 / 64) * 64
  EXPECT_EQ(padded_vocab(50257, 128, 1), 50304);
  EXPECT_EQ(padded_vocab(50257, 128, 8), 51200);
  EXPECT_EQ(padded_vocab(128256, 128, 1), 128256);
  ModelConfig again = llama;
  again.resolve();
  EXPECT_EQ(again, llama);
}

TEST(Options, ExplicitSizesStay) {
  const Options o = options_of(
      std::string(kSmallRun) +
      "--swiglu --ffn-hidden-size 100 --kv-channels 24 --num-attention-heads 3 --vocab-size 100 --no-pad-vocab-size");
  EXPECT_EQ(o.model.ffn_hidden_size, 100);
  EXPECT_EQ(o.model.kv_channels, 24);
  EXPECT_EQ(o.model.padded_vocab_size, 100);
  EXPECT_EQ(options_of(std::string(kSmallRun) + "--vocab-size 100 --padded-vocab-size 512").model.padded_vocab_size,
            512);
}

TEST(Options, ActivationSpellings) {
  const auto activation = [](const std::string& flags) { return options_of(kSmallRun + flags).model.activation; };
  EXPECT_EQ(activation(""), Activation::gelu_tanh);
  EXPECT_EQ(activation("--gelu"), Activation::gelu);
  EXPECT_EQ(activation("--gelu-tanh"), Activation::gelu_tanh);
  EXPECT_EQ(activation("--openai-gelu"), Activation::gelu_tanh);
  EXPECT_EQ(activation("--openai-gelu --gelu-tanh"), Activation::gelu_tanh);
  EXPECT_EQ(activation("--swiglu"), Activation::swiglu);
  EXPECT_EQ(activation("--squared-relu"), Activation::squared_relu);
  EXPECT_EQ(activation("--activation swiglu"), Activation::swiglu);
}

TEST(Options, ModelSpellings) {
  const Options o =
      options_of(std::string(kSmallRun) +
                 "--use-rotary-position-embeddings --rotary-base 500000 --use-rope-scaling --rope-scaling-factor 32 "
                 "--normalization RMSNorm --layernorm-epsilon 1e-6 --disable-bias-linear --add-qkv-bias "
                 "--untie-embeddings-and-output-weights --qk-layernorm --parallel-residual");
  EXPECT_EQ(o.model.position_embedding_type, PositionEmbedding::rope);
  EXPECT_EQ(o.model.rotary_base, 500000);
  EXPECT_EQ(o.model.rope_scaling.kind, RopeScaling::Kind::llama3);
  EXPECT_EQ(o.model.rope_scaling.factor, 32);
  EXPECT_EQ(o.model.normalization, Normalization::rms_norm);
  EXPECT_EQ(o.model.norm_epsilon, 1e-6);
  EXPECT_FALSE(o.model.add_bias_linear);
  EXPECT_TRUE(o.model.add_qkv_bias && o.model.untie_embeddings_and_output_weights && o.model.qk_layernorm &&
              o.model.parallel_residual);
  EXPECT_TRUE(options_of(std::string(kSmallRun) + "--disable-bias-linear --add-bias-linear").model.add_bias_linear);
}

// DeepSeek-V3's sizes with Megatron's flags. With multi-head latent attention a factor above 1 means yarn.
TEST(Options, LatentAttention) {
  const std::string line =
      std::string(kSmallRun) +
      "--multi-latent-attention --position-embedding-type rope --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 "
      "--qk-pos-emb-head-dim 64 --v-head-dim 96 --qk-layernorm --rotary-scaling-factor 40 --mscale 1.0 "
      "--mscale-all-dim 1.0 ";
  const ModelConfig m = options_of(line).model;
  EXPECT_EQ(m.mla, (MlaConfig{true, 1536, 512, 128, 64, 96}));
  EXPECT_EQ(m.rope_scaling.kind, RopeScaling::Kind::yarn);
  EXPECT_EQ(m.rope_scaling.factor, 40);
  EXPECT_EQ(m.rope_scaling.original_length, 4096);
  EXPECT_EQ(m.rope_scaling.mscale_all_dim, 1);
  EXPECT_EQ(options_of(line + "--rope-type rope").model.rope_scaling.kind, RopeScaling::Kind::none);
}

TEST(Options, Yarn) {
  const ModelConfig m = options_of(std::string(kSmallRun) +
                                   "--position-embedding-type yarn --yarn-rotary-scaling-factor 32 "
                                   "--yarn-original-max-position-embeddings 2048 --yarn-beta-fast 16 "
                                   "--no-yarn-correction-range-round-to-int")
                            .model;
  EXPECT_EQ(m.position_embedding_type, PositionEmbedding::rope);
  EXPECT_EQ(m.rope_scaling.kind, RopeScaling::Kind::yarn);
  EXPECT_EQ(m.rope_scaling.factor, 32);
  EXPECT_EQ(m.rope_scaling.original_length, 2048);
  EXPECT_EQ(m.rope_scaling.beta_fast, 16);
  EXPECT_FALSE(m.rope_scaling.whole_ends);
}

TEST(Options, SlidingWindows) {
  const auto window = [](const std::string& flags) { return options_of(kSmallRun + flags).model.sliding_window; };
  EXPECT_EQ(window("--sliding-window 16"), 16);
  EXPECT_EQ(window("--window-size 15,0"), 16);
  EXPECT_EQ(window("--window-size (15,0)"), 16);
  EXPECT_EQ(window("--window-size -1,0"), 0);
  for (const char* bad : {"16", "16,1", "x,0", ",0", "-2,0", "16,0,0"})
    EXPECT_NE(refusal_of(std::string(kSmallRun) + "--window-size " + bad).find("is not of the form W,0"),
              std::string::npos)
        << bad;
}

TEST(Options, QueryGroups) {
  const auto groups = [](const std::string& flags) { return options_of(kSmallRun + flags); };
  EXPECT_EQ(groups("--num-query-groups 2").model.num_query_groups, 2);
  EXPECT_TRUE(contains(groups("--num-query-groups 2").notes, "--num-query-groups 2 holds by itself"));
  EXPECT_EQ(groups("--group-query-attention --num-query-groups 2").model.num_query_groups, 2);
  EXPECT_FALSE(contains(groups("--group-query-attention --num-query-groups 2").notes, "holds by itself"));
  EXPECT_EQ(groups("--group-query-attention").model.num_query_groups, 1);
}

TEST(Options, StartUpNotes) {
  const Options o = options_of(std::string(kSmallRun) +
                               "--use-flash-attn --transformer-impl local --hidden-dropout 0.2 --sequence-parallel");
  EXPECT_TRUE(contains(o.notes, "--use-flash-attn has no effect: attention never holds"));
  EXPECT_TRUE(contains(o.notes, "--transformer-impl has no effect: there is one implementation"));
  EXPECT_TRUE(contains(o.notes, "differs from Megatron: attention-dropout is 0"));
  EXPECT_FALSE(contains(o.notes, "hidden-dropout"));
  EXPECT_TRUE(contains(o.notes, "warning: --sequence-parallel has no effect"));
}

TEST(Options, RefusedFlagsSayWhy) {
  const auto refused = [](const std::string& flags) { return refusal_of(kSmallRun + flags); };
  EXPECT_EQ(
      refused("--mtp-standalone"),
      "--mtp-standalone: multi-token prediction has only modules of the last layer's kind, trained with the model");
  EXPECT_EQ(refused("--moe-enable-routing-replay --moe-paged-stash"),
            "--moe-enable-routing-replay, --moe-paged-stash: this part of a mixture of experts is not built yet");
  EXPECT_EQ(refused("--moe-dispatch-fwd-dtype mxfp8"),
            "--moe-dispatch-fwd-dtype: experts' tokens are sent in the precision of activations: leave it out, or give "
            "bf16");
  EXPECT_EQ(refused("--moe-dispatch-fwd-dtype bf16"), "");
  for (const char* fp8 : {"--fp8 hybrid", "--fp8-hybrid", "--fp8-format hybrid"})
    EXPECT_EQ(refused(std::string(fp8) + " --kitchen-recipe-number 1"),
              "--kitchen-recipe-number: this part of fp8 and fp4 is not built yet");
  EXPECT_EQ(refused("--num-exprts 8"),
            "unknown flag --num-exprts: the nearest known one is --num-experts (--help lists all)");
}

// Flags of older Megatron-LM releases have the same meaning.
TEST(Options, OldSpellings) {
  const auto read = [](const std::string& flags) { return options_of(kSmallRun + flags); };
  EXPECT_EQ(read("--batch-size 8").train.micro_batch_size, 8);
  EXPECT_EQ(read("--fp8 hybrid --fp8-output-proj").quantize.head, QuantizeConfig::Head::all);
  EXPECT_EQ(read("--warmup 0.25").optimizer.lr_warmup_fraction, 0.25);
  EXPECT_EQ(read("--dry-run --world-size 2 --model-parallel-size 2").parallel.tensor_model_parallel_size, 2);
  EXPECT_TRUE(read("--cpu-optimizer --cpu-optimizer-type ADAM").optimizer.optimizer_cpu_offload);
  EXPECT_EQ(read("--dry-run --world-size 2 --pipeline-model-parallel-size 2 --num-layers 8 --global-batch-size 8 "
                 "--virtual-pipeline-model-parallel-size 4")
                .parallel.num_virtual_stages_per_pipeline_rank,
            4);
  using Granularity = RecomputeConfig::Granularity;
  using Method = RecomputeConfig::Method;
  for (const char* full :
       {"--checkpoint-activations", "--recompute-granularity full", "--activations-checkpoint-method uniform",
        "--recompute-granularity full --recompute-method "
        "uniform --recompute-num-layers 1"}) {
    const RecomputeConfig r = read(full).recompute;
    EXPECT_EQ(r.granularity, Granularity::full) << full;
    EXPECT_EQ(r.method, Method::uniform) << full;
    EXPECT_EQ(r.num_layers, 1) << full;
  }
  EXPECT_EQ(read("--checkpoint-activations --checkpoint-num-layers 2").recompute.num_layers, 2);
  EXPECT_EQ(read("--recompute-activations").recompute.granularity, Granularity::selective);
  using Format = QuantizeConfig::Format;
  for (const char* hybrid : {"--fp8 hybrid", "--fp8-hybrid", "--fp8-format hybrid"})
    EXPECT_EQ(read(hybrid).quantize.format, Format::hybrid) << hybrid;
  EXPECT_EQ(read("--fp8-e4m3").quantize.format, Format::e4m3);
  const RecomputeConfig experts = read("--moe-layer-recompute").recompute;
  EXPECT_EQ(experts.granularity, Granularity::selective);
  EXPECT_EQ(experts.modules, std::vector<std::string>{"moe"});
}

// Names that other programs have for our flags. No answer suggests a flag that only looks similar.
TEST(Options, NamesOfOtherProgramsAreAnsweredWithOurs) {
  const std::pair<const char*, const char*> cases[] = {
      {"--learning-rate 1e-4", "--learning-rate: write --lr"},
      {"--learning_rate 1e-4", "--learning_rate: write --lr"},
      {"--rope-theta 500000", "--rope-theta: write --rotary-base"},
      {"--adam-epsilon 1e-8", "--adam-epsilon: write --adam-eps"},
      {"--max-grad-norm 1", "--max-grad-norm: write --clip-grad"},
      {"--block-size 64", "--block-size: write --seq-length"},
      {"--tp 2", "--tp: write --tensor-model-parallel-size"},
      {"--gradient-checkpointing", "--gradient-checkpointing: write --recompute-granularity full"},
      {"--gradient-accumulation-steps 4",
       "--gradient-accumulation-steps: the number of micro-batches follows from "
       "--global-batch-size, the sum over ranks"},
      {"--lora", "--lora: adapters (LoRA) are not built"},
      {"--dtype bf16", "--dtype: it is fp32 unless --bf16 or --fp16 is given"}};
  for (const auto& [flags, answer] : cases) EXPECT_EQ(refusal_of(kSmallRun + std::string(flags)), answer);
  EXPECT_EQ(refusal_of(kSmallRun + std::string("--learning-rat 1")).find("--learning-rate"), std::string::npos);
}

// The flag that such a name stands for is not also reported as missing. The line that is left has it.
TEST(Options, ANameOfAnotherProgramStandsForItsFlag) {
  std::string line = kSmallRun;
  line.replace(line.find("--lr "), 5, "--learning-rate ");
  try {
    options_of(line + "--dropout 0.1");
    FAIL();
  } catch (const Mistakes& e) {
    EXPECT_EQ(e.lines, (std::vector<std::string>{"--learning-rate: write --lr",
                                                 "--dropout: give both of --hidden-dropout and --attention-dropout"}));
    ASSERT_EQ(e.after.size(), 2u);
    EXPECT_EQ(refusal_of(e.after[1].substr(std::string("megalith pretrain-gpt ").size())), "");
    EXPECT_NE(e.after[1].find("--lr "), std::string::npos) << e.after[1];
  }
}

TEST(Options, LearnedPositionsGoWhereAnotherKindIsGiven) {
  const auto kind = [](const std::string& flags) {
    return options_of(kSmallRun + flags).model.position_embedding_type;
  };
  EXPECT_EQ(kind("--no-position-embedding"), PositionEmbedding::none);
  for (const char* rope : {"--position-embedding-type rope", "--use-rotary-position-embeddings"}) {
    EXPECT_EQ(kind(std::string("--no-position-embedding ") + rope), PositionEmbedding::rope) << rope;
    EXPECT_EQ(kind(std::string(rope) + " --no-position-embedding"), PositionEmbedding::rope) << rope;
  }
  EXPECT_TRUE(
      contains(options_of(std::string(kSmallRun) + "--no-position-embedding --position-embedding-type rope").notes,
               "--no-position-embedding has no effect"));
}

// Some flags only control internals of Megatron, or a part that is off. They never stop a run.
TEST(Options, MachineryNeverStopsARun) {
  for (const char* flags :
       {"--cuda-graph-impl local --cuda-graph-scope attn mlp --cuda-graph-warmup-steps 3", "--use-checkpoint-args",
        "--use-mcore-models --transformer-impl transformer_engine", "--wandb-project p --wandb-exp-name e",
        "--moe-router-topk 2 --moe-grouped-gemm --moe-aux-loss-coeff 1e-2", "--fp8-margin 0 --fp8-recipe tensorwise",
        "--loss-scale 12 --initial-loss-scale 65536 --hysteresis 2", "--consistency-check",
        "--enable-straggler-detection", "--num-experts 0", "--expert-model-parallel-size 1",
        "--distributed-backend nccl --local_rank 0", "--timing-log-level 2 --log-timers-to-tensorboard",
        "--num-distributed-optimizer-instances 2"})
    EXPECT_EQ(refusal_of(kSmallRun + std::string(flags)), "") << flags;
}

TEST(Options, TheLineThatIsLeftIsTold) {
  try {
    options_of(std::string(kSmallRun) + "--mtp-standalone --batch-size 4");
    FAIL();
  } catch (const Mistakes& e) {
    EXPECT_EQ(e.lines, std::vector<std::string>{"--mtp-standalone: multi-token prediction has only modules of the last "
                                                "layer's kind, trained with the model"});
    ASSERT_EQ(e.after.size(), 2u);
    std::string line = std::string("megalith pretrain-gpt ") + kSmallRun + "--micro-batch-size 4";
    EXPECT_EQ(e.after[1], line);
    EXPECT_EQ(refusal_of(e.after[1].substr(std::string("megalith pretrain-gpt ").size())), "");
  }
  try {
    options_of(std::string(kSmallRun) + "--mtp-standalone --lr -1");
    FAIL();
  } catch (const Mistakes& e) {
    EXPECT_EQ(e.lines.size(), 2u);
    EXPECT_TRUE(e.after.empty());  // the later command would not run
  }
}

TEST(Options, NoOtherFlagHidesAField) {
  Options options;
  const config::FieldList fields = config::fields_of(options);
  std::vector<std::string> seen;
  for (const auto& other : megatron_flags()) {
    for (const config::Field& field : fields.all())
      for (const config::Spelling& spelling : field.spellings) EXPECT_NE(spelling.flag, other.flag);
    EXPECT_TRUE(other.flag.starts_with("--")) << other.flag;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), other.flag), 0) << other.flag << " is in the table twice";
    seen.push_back(other.flag);
  }
}

TEST(Options, HelpAndPageMentionEveryField) {
  Options options;
  const config::FieldList fields = config::fields_of(options);
  const std::string help = options_help(), page = options_page(), arguments = arguments_text(options);
  for (const config::Field& field : fields.all()) {
    EXPECT_NE(field.help, "") << field.name;
    EXPECT_NE(field.group, "") << field.name;
    EXPECT_NE(arguments.find("  " + field.key() + " ."), std::string::npos) << field.name;
    for (const config::Spelling& spelling : field.spellings) {
      EXPECT_NE(help.find("  " + spelling.flag), std::string::npos) << spelling.flag;
      EXPECT_NE(page.find("`" + spelling.flag), std::string::npos) << spelling.flag;
    }
  }
  for (const auto& other : megatron_flags())
    EXPECT_NE(page.find("`" + other.flag + "`"), std::string::npos) << other.flag;
}

TEST(Options, HelpAsksForNothingElse) {
  const Options o = options_of("--help");
  EXPECT_TRUE(o.help);
}

TEST(Options, JsonRoundTrip) {
  Options a = options_of(
      std::string(kSmallRun) +
      "--swiglu --num-query-groups 2 --vocab-size 1000 --save d --save-interval 5 --weight-decay-incr-style linear "
      "--start-weight-decay 0 --end-weight-decay 0.3 --lr-decay-style inverse-square-root --bf16");
  Options b;
  config::FieldList fields = config::fields_of(b);
  config::from_json(fields, config::to_json(config::fields_of(a)), "checkpoint");
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.optimizer, b.optimizer);
  EXPECT_EQ(a.parallel, b.parallel);
  EXPECT_TRUE(config::differences(config::fields_of(a), fields).empty());
}

TEST(Options, DataFlags) {
  const Options o =
      options_of(std::string(kSmallRun) +
                 "--mock-data=false --data-path 0.3 a 0.7 b --split 99,1,0 --dataloader-type cyclic --no-data-sharding "
                 "--reset-position-ids --eod-mask-loss --vocab-file v.json --tokenizer-type GPT2BPETokenizer");
  EXPECT_EQ(o.data.data_path, (std::vector<std::string>{"0.3", "a", "0.7", "b"}));
  EXPECT_EQ(o.data.split, "99,1,0");
  EXPECT_EQ(o.data.dataloader_type, SamplerType::cyclic);
  EXPECT_FALSE(o.data.data_sharding);
  EXPECT_TRUE(o.data.reset_position_ids && o.data.eod_mask_loss && !o.data.reset_attention_mask);
  EXPECT_EQ(o.tokenizer.type + o.tokenizer.vocab_file, "GPT2BPETokenizerv.json");
}

TEST(Options, CheckpointOfAnotherModelGivesATable) {
  ModelConfig a = options_of(kSmallRun).model, b = options_of(std::string(kSmallRun) + "--num-layers 3 --swiglu").model;
  const auto list = config::differences(config::fields_of(a), config::fields_of(b));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].name, "num_layers");
  EXPECT_EQ(list[1].name, "ffn_hidden_size");
  EXPECT_EQ(list[2].expected, "gelu_tanh");
  EXPECT_EQ(list[2].found, "swiglu");
}

TEST(Options, HugeSizesDoNotOverflow) {
  for (const char* flag : {"--hidden-size", "--num-layers", "--vocab-size", "--seq-length", "--micro-batch-size",
                           "--num-attention-heads", "--make-vocab-size-divisible-by", "--ffn-hidden-size"}) {
    EXPECT_NE(refusal_of(std::string(kSmallRun) + "--vocab-size 10 " + flag + " 9223372036854775807"), "") << flag;
    EXPECT_NE(refusal_of(std::string(kSmallRun) + "--vocab-size 10 " + flag + " -9223372036854775808"), "") << flag;
  }
}

}  // namespace
}  // namespace megalith
