// Command lines of Megatron's tools, of Megatron Bridge and of NeMo, as users copy them. Either they run, or the answer
// is one complete Megalith command that runs.
#include <filesystem>

#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class Foreign : public Workshop {
 protected:
  // A checkpoint of a small run.
  const std::string& checkpoint() {
    if (fs::exists(ck_)) return ck_;
    must(
        pretrain("--train-iters 2 --split 80,10,10 --save-interval 2 --bf16 --swiglu --normalization RMSNorm "
                 "--disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights --save " +
                 ck_));
    return ck_;
  }
  const std::string& hub() {
    if (!fs::exists(hf_)) must("convert --load " + checkpoint() + " --to hf --save " + hf_);
    return hf_;
  }
  // The command in an answer, without the program's name.
  std::string command_in(const Ran& ran, const std::string& command) {
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
    const std::size_t at = ran.err.rfind("megalith " + command + " ");
    EXPECT_NE(at, std::string::npos) << ran.err;
    if (at == std::string::npos) return "";
    const std::string line = ran.err.substr(at + 9);
    return line.substr(0, line.find('\n'));
  }
  void says(const Ran& ran, const std::string& part) { EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err; }
  void same(const std::string& a, const std::string& b) { says_equal(must("inspect --diff " + a + " " + b)); }
  void says_equal(const Ran& ran) { EXPECT_NE(ran.out.find(" 0 different"), std::string::npos) << ran.out; }

  std::string ck_ = *this / "ck", hf_ = *this / "hub";
};

// Command lines of tools/checkpoint/convert.py from public documents.
TEST_F(Foreign, ConvertPyRuns) {
  const std::string out = *this / "out", back = *this / "back";
  const Ran there = must(
      "convert --bf16 --model-type GPT --loader llama_mistral --saver core --checkpoint-type hf "
      "--model-size llama3 --target-tensor-parallel-size 2 --target-pipeline-parallel-size 2 "
      "--loader-transformer-impl transformer_engine --make-vocab-size-divisible-by 16 "
      "--true-vocab-size 257 --max-queue-size 8 --load-dir " +
      hub() + " --save-dir " + out);
  says(there, "--target-tensor-parallel-size, --target-pipeline-parallel-size have no effect: any layout reads any ");
  says(there, "megalith convert --load " + hub() + " --to torch_dist --save " + out + " --dtype bf16");
  EXPECT_TRUE(fs::exists(out + "/latest_checkpointed_iteration.txt"));
  must("tools/checkpoint/convert.py --model-type GPT --loader mcore --saver llama_mistral --load-dir " + out +
       " --save-dir " + back + " --megatron-path /workspace/Megatron-LM --tokenizer-model none/vocab.json");
  EXPECT_TRUE(fs::exists(back + "/config.json"));
  must("convert --model-type GPT --loader megatron --saver megatron --load-dir " + checkpoint() + " --save-dir " +
       *this / "o3");
  same(*this / "o3", checkpoint());
}

TEST_F(Foreign, ConvertPyIsAnsweredOnce) {
  const std::string out = *this / "out", line = "convert --loader llama_mistral --saver mcore --load-dir " + hub();
  const Ran ran = megalith(line + " --model-type BERT --checkpoint-type meta --ckeckpoint x --save-dir " + out);
  for (const char* part : {"--model-type BERT", "--checkpoint-type meta", "--ckeckpoint is not supported"})
    says(ran, part);
  must(command_in(ran, "convert"));
  const Ran none = megalith(line + " --save-dir --bf16");
  says(none, "--save-dir has no value: is a variable of the script not set?");
  says(none, "where to write is not given");
  says(megalith(line + " --saver my_own --save-dir x"), "--saver my_own is not supported: --to torch_dist");
  says(megalith(line + " --to hf --saver my_own --save-dir x"), "--saver my_own is not supported: --to torch_dist");
  says(megalith("convert --model-type GPT --loader foo --saver core --load-dir " + hub() + " --save-dir " + out),
       "--loader foo is not supported: leave it out");
  says(megalith("convert --source foo --target hf --input-path " + hub() + " --output-path " + out),
       "--source foo is not supported: leave it out");
}

TEST_F(Foreign, Bridge) {
  const std::string a = *this / "a", b = *this / "b", c = *this / "c", d = *this / "d";
  must("-m megatron.bridge.convert --source hf --target megatron --input-path " + hub() + " --output-path " + a +
       " --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2");
  const Ran layout = must("convert --source megatron --target megatron --input-path " + a + " --output-path " + b +
                          " --source-tp 4 --source-pp 2 --target-tp 8 --target-pp 1");
  says(layout, "for another layout no conversion is needed");
  same(a, b);
  must("megatron.bridge.convert --source megatron --target megatron --input-path " + a + " --output-path " +
       *this / "g");
  must("examples/conversion/convert_checkpoints.py import --hf-model " + hub() + " --megatron-path " + c +
       " --torch-dtype bfloat16 --device-map auto --trust_remote_code --tp 2");
  must("convert export --hf-model " + hub() + " --megatron-path " + c + " --hf-path " + d +
       " --no-progress --not-strict");
  EXPECT_NE(slurp(d + "/config.json").find("\"llama\""), std::string::npos);
  must("convert megatron_path=" + c + " hf_model_id=" + hub() + " hf_path=" + *this / "e");
  must("convert export --hf-model meta-llama/Llama-3.2-1B --megatron-path " + c + "/iter_0000000 --hf-path " +
       *this / "f");
}

TEST_F(Foreign, BridgeFromPython) {
  const std::string out = *this / "a", back = *this / "b";
  const std::string import =
      "from megatron.bridge import AutoBridge; AutoBridge.import_ckpt('" + hub() + "', \"" + out + "\")";
  EXPECT_EQ(run_program("megalith", {"-c", import}).exit_code, 0);
  const Ran ran =
      run_program("megalith", {"-c", "bridge.export_ckpt(megatron_path='" + out + "', hf_path='" + back + "')"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(back + "/config.json"));
  EXPECT_EQ(run_program("megalith", {"-c", "print(1)"}).exit_code, 2);
}

// NeMo's settings for pretraining and fine-tuning, with small sizes.
TEST_F(Foreign, NemoIsAnsweredWithACommandThatRuns) {
  const std::string keys =
      "megatron_gpt_pretraining.py --config-path=conf --config-name=megatron_gpt_config trainer.devices=8 "
      "trainer.num_nodes=1 trainer.precision=bf16 trainer.max_steps=3 trainer.val_check_interval=2 "
      "trainer.limit_val_batches=1 model.micro_batch_size=2 model.global_batch_size=4 model.num_layers=2 "
      "model.hidden_size=32 model.ffn_hidden_size=64 model.num_attention_heads=2 model.encoder_seq_length=32 "
      "model.max_position_embeddings=32 model.mcore_gpt=True model.activation=fast-swiglu model.bias=False "
      "model.normalization=rmsnorm model.optim.name=distributed_fused_adam model.optim.sched.warmup_steps=1 "
      "model.optim.sched.constant_steps=0 +model.use_flash_attention=True model.fp8=False "
      "exp_manager.name=run exp_manager.create_wandb_logger=True model.data.splits_string=80,10,10 "
      "model.data.data_prefix=[1.0," +
      data() + "] exp_manager.exp_dir=" + *this / "exp";
  const Ran ran = megalith(keys);
  // The answer has the reason for the refusal, and then notes. Here there is one reason.
  for (const char* part :
       {"megalith pretrain-gpt: exp_manager.create_wandb_logger=True: NeMo's settings of Weights & Biases",
        "\nnote: conf/megatron_gpt_config.yaml does not exist",
        "\nnote: trainer.devices=8, trainer.num_nodes=1 have no counterpart: the launcher starts the ranks"})
    says(ran, part);
  const std::string command = command_in(ran, "pretrain-gpt");
  for (const char* part :
       {"--swiglu", "--disable-bias-linear", "--normalization RMSNorm", "--use-distributed-optimizer",
        "--adam-beta2 0.98", "--lr-decay-style cosine", "--hidden-dropout 0.1", "--save-interval 2"})
    EXPECT_NE(command.find(part), std::string::npos) << part << "\n" << command;
  must(command + " --tokenizer-type ByteTokenizer --no-progress");
  EXPECT_TRUE(fs::exists(*this / "exp/run/latest_checkpointed_iteration.txt"));
}

// NeMo's file of --config-name is read if it exists. The command line overrides it.
TEST_F(Foreign, NemoReadsItsFile) {
  fs::create_directories(*this / "conf");
  spit(*this / "conf/my.yaml",
       "name: run\ntrainer: {precision: bf16-mixed, max_steps: 4, val_check_interval: 2, limit_val_batches: 1}\n"
       "model:\n  encoder_seq_length: 32\n  max_position_embeddings: ${.encoder_seq_length}\n  num_layers: 2\n"
       "  hidden_size: 32\n  num_attention_heads: 2\n  num_query_groups: null\n  micro_batch_size: 1\n"
       "  global_batch_size: 2\n  share_embeddings_and_output_weights: False\n"
       "  activations_checkpoint_granularity: full\n  activations_checkpoint_method: uniform\n"
       "  activations_checkpoint_num_layers: 1\n"
       "  data:\n    seq_length: ${model.encoder_seq_length}\n    splits_string: 80,10,10\n"
       "    data_prefix:\n      - .5\n      - " +
           data() + "\n      - .5\n      - " + data() + "\n");
  const Ran ran = megalith("pretrain-gpt --config-path=" + *this / "conf" + " --config-name=my trainer.max_steps=2");
  const std::string command = command_in(ran, "pretrain-gpt");
  for (const std::string& part :
       {std::string("--max-position-embeddings 32"), std::string("--train-iters 2"),
        std::string("--untie-embeddings-and-output-weights"), "--data-path .5 " + data() + " .5 " + data(),
        std::string("--recompute-granularity full"), std::string("--recompute-method uniform")})
    EXPECT_NE(command.find(part), std::string::npos) << part << "\n" << command;
  must(command + " --tokenizer-type ByteTokenizer --no-progress");
}

TEST_F(Foreign, NemoFineTuning) {
  spit(*this / "chat.jsonl",
       R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})"
       "\n");
  const std::string keys =
      "pretrain-gpt --config-path conf --config-name megatron_gpt_sft model.tensor_model_parallel_size=1 "
      "model.data.train_ds.packed_sequence=True model.data.train_ds.max_seq_length=32 model.optim.lr=2e-6 "
      "trainer.max_steps=2 model.restore_from_path=";
  const Ran none = megalith(keys + " --micro-batch-size 1 --global-batch-size 1");
  for (const char* part : {"model.restore_from_path= is empty: is a variable", "MODEL_DIR is its placeholder",
                           "TRAIN.jsonl is its placeholder"})
    says(none, part);
  const Ran ran = megalith(
      keys + hub() + " model.data.train_ds.file_names=[" + *this / "chat.jsonl" +
      "] model.peft.peft_scheme=lora model.optim.sched.warmup_steps=1 --micro-batch-size 1 --global-batch-size 1");
  says(ran, "model.peft.peft_scheme=lora: adapters are not built yet");
  const std::string command = command_in(ran, "pretrain-gpt");
  for (const char* part :
       {"--sft ", "--finetune ", "--lr 2e-6", "--seq-length 32", "--train-iters 2", "--eval-iters 0"})
    EXPECT_NE(command.find(part), std::string::npos) << part << "\n" << command;
  EXPECT_EQ(command.find("--no-sft-packing"), std::string::npos) << command;
  must(command + " --tokenizer-type ByteTokenizer --no-progress");
}

// A plan needs no data. NeMo's own precision is fp16.
TEST_F(Foreign, NemoIsPlanned) {
  const std::string keys =
      "plan --config-path conf --config-name megatron_gpt_sft model.restore_from_path=" + hub() +
      " model.tensor_model_parallel_size=1 model.data.train_ds.max_seq_length=32 trainer.max_steps=2"
      " --tokenizer-type ByteTokenizer --gpus 2 --hardware h100-sxm --gpu-hour-price 3 ";
  const Ran ran = must(keys);
  for (const char* part : {"TRAIN.jsonl is its placeholder", "planned as: "}) says(ran, part);
  for (const char* part : {"on 2 x h100-sxm", "USD/1T", "run:  torchrun", "--sft ", "--fp16"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
  const std::string wide = must(keys + "trainer.precision=bf16").out;
  EXPECT_NE(wide.find("--bf16"), std::string::npos) << wide;
}

const std::string kSmallNemo =
    "trainer.max_steps=1 trainer.precision=bf16 model.micro_batch_size=2 model.global_batch_size=4 model.num_layers=1 "
    "model.hidden_size=32 model.num_attention_heads=2 model.encoder_seq_length=32 model.data.data_impl=mock "
    "trainer.limit_val_batches=0 model.optim.sched.warmup_steps=0 ";

// The script's name may follow the command that does its work.
TEST_F(Foreign, ScriptsMayFollowOurCommand) {
  const std::string script = "examples/nlp/megatron_gpt_pretraining.py " + kSmallNemo;
  const Ran plan = must("plan " + script + "--vocab-size 300 --gpus 2 --hardware h100-sxm");
  says(plan, "planned as: ");
  EXPECT_EQ(plan.err.find("megatron_gpt_pretraining.py"), std::string::npos) << plan.err;
  must(command_in(megalith("pretrain-gpt " + script + "--vocab-size 300"), "pretrain-gpt") + " --device cpu");
  must("plan pretrain_gpt.py --recipe demo --gpus 2 --hardware h100-sxm");
  must("pretrain-gpt pretrain_gpt.py --recipe demo --mock-data --device cpu --train-iters 2 --lr-warmup-iters 0");
  says(megalith("pretrain-gpt pretrain_bert.py"), "unexpected argument 'pretrain_bert.py'");
}

// NeMo downloads the files of a tokenizer's type. A run on tokens needs only its size.
TEST_F(Foreign, NemoTokenizersWithoutFiles) {
  const auto answer = [&](const std::string& words) { return megalith("pretrain-gpt " + kSmallNemo + words); };
  const Ran named = answer("model.tokenizer.type=GPT2BPETokenizer model.tokenizer.delimiter=x");
  says(named, "model.tokenizer.type=GPT2BPETokenizer has no counterpart: --vocab-size is that of this type");
  says(named, "model.tokenizer.delimiter=x has no counterpart: the files");
  for (const std::string& command : {command_in(named, "pretrain-gpt"), command_in(answer(""), "pretrain-gpt")}) {
    EXPECT_NE(command.find("--vocab-size 50257"), std::string::npos) << command;
    must(command + " --device cpu");
  }
  says(answer("model.tokenizer.library=sentencepiece"),
       "model.tokenizer.library=sentencepiece: the tokenizer's files are not given");
  const Ran ours = answer("model.tokenizer.type=GPT2BPETokenizer --tokenizer-type ByteTokenizer");
  EXPECT_EQ(command_in(ours, "pretrain-gpt").find("--vocab-size"), std::string::npos) << ours.err;
}

TEST_F(Foreign, ProgramsByTheirNames) {
  spit(*this / "a.jsonl", "{\"text\": \"hello\"}\n");
  must("tools/preprocess_data.py --tokenizer-type ByteTokenizer --append-eod --workers 1 --input " + *this / "a.jsonl" +
       " --output-prefix " + *this / "a");
  fs::create_directories(*this / "parts");
  for (const char* end : {".bin", ".idx"}) fs::copy(*this / "a_text_document" + end, *this / "parts/x" + end);
  must("tools/merge_datasets.py --input " + *this / "parts" + " --output-prefix " + *this / "merged");
  std::string line = pretrain("--train-iters 1 --split 80,10,10 --save-interval 1 --save " + *this / "s");
  must("pretrain_gpt.py --device cpu" + line.substr(line.find(' ')));
  const std::string plan = pretrain("--train-iters 1 --device cpu");
  EXPECT_NE(must("tools/checkpoint/checkpoint_inspector.py inspect " + *this / "s").out.find("format"),
            std::string::npos);
  EXPECT_NE(must("report_theoretical_memory.py" + plan.substr(plan.find(' '))).out.find("total"), std::string::npos);
  says(megalith("tools/run_text_generation_server.py --load x --port 5000"),
       "megalith generate --load DIR --prompt TEXT");
  says(megalith("train --lr 1"), "megalith pretrain-gpt trains");
  says(megalith("--num-layers 2 --lr 1"), "the command comes first: ");
  says(megalith("pretrain_bert.py"), "missing required flags");
  says(megalith("pretrain_t5.py"), "missing required flags");
  says(megalith("pretrain_ict.py"), "not built yet");
  says(megalith("torchrun --nproc_per_node 8 pretrain_gpt.py"), "a launcher comes before this program: torchrun");
  says(megalith("tools/convert_checkpoint/deepspeed_to_megatron.py --input_folder a"), "of DeepSpeed is not read");
  says(megalith("toolkits/llama/hf2mcore_llama3_1.py --load a"), "convert --load DIR --to FORMAT --save DIR does this");
  says(megalith("weights2megatron.py llama2 --size=7"), "convert --load DIR");
  says(megalith("tools/preprocess_data_many_cores.py --input a"), "preprocess-data --input FILE.jsonl");
  says(megalith("tasks/main.py --task LAMBADA"), "evaluate --load DIR");
  says(megalith("finetune_megatron_llama.py --epochs 1"), "pretrain-gpt --sft fine-tunes");
  says(megalith("pretrain_gpt_core.py --num-layers 2"), "pretrain-gpt trains decoders");
  says(megalith("trian"), "there is no command 'trian'");
}

}  // namespace
}  // namespace megalith::test
