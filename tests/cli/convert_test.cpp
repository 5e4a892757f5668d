// Tests of checkpoints in Megatron's format that training writes, and of `inspect`. Also tests conversions that never
// hold the whole model in memory.
#include <filesystem>
#include <fstream>

#include "ckpt/native/checkpoint.h"
#include "sparse_model.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class Formats : public Workshop {
 protected:
  std::string run(const std::string& more) {
    return pretrain(
        "--lr-decay-iters 20 --lr-decay-style cosine --bf16 --swiglu --normalization RMSNorm --disable-bias-linear "
        "--position-embedding-type rope --log-interval 1 " +
        more);
  }
};

// A run resumed from torch_dist continues like one resumed from the native format.
TEST_F(Formats, TrainingGoesOnFromTorchDist) {
  for (const char* format : {"native", "torch_dist"}) {
    const std::string dir = *this / format;
    must(run("--train-iters 4 --save-interval 2 --most-recent-k 1 --save " + dir + " --ckpt-format " + format));
    EXPECT_FALSE(fs::exists(dir + "/iter_0000002"));
    const Ran ran = must(
        run("--train-iters 6 --auto-detect-ckpt-format --metrics-file " + *this / format + ".jsonl --load " + dir));
    EXPECT_NE(ran.out.find("at iteration 4"), std::string::npos) << ran.out;
  }
  const auto a = digits(*this / "native.jsonl"), b = digits(*this / "torch_dist.jsonl");
  EXPECT_GT(a.size(), 4u);
  EXPECT_EQ(a, b);
  const Ran same = must("inspect --diff " + *this / "native" + " " + *this / "torch_dist");
  EXPECT_NE(same.out.find(" tensors equal, 0 different; compared bit by bit\n"), std::string::npos) << same.out;
  must(run("--train-iters 2 --finetune --load " + *this / "torch_dist"));
  must(run("--train-iters 6 --no-load-optim --load " + *this / "torch_dist"));
  expect_refused(run("--train-iters 6 --hidden-size 64 --load " + *this / "torch_dist"), "holds another model");
  expect_refused(run("--train-iters 6 --lr 1 --load " + *this / "torch_dist"), "another schedule");
  expect_refused(run("--train-iters 6 --ckpt-format zarr"), "ckpt-format");
  const Ran other = must(run("--train-iters 6 --seed 7 --clip-grad 2 --split 9,1,0 --load " + *this / "torch_dist"));
  for (const char* part : {"seed 1234 -> 7", "clip_grad 1.0 -> 2.0", "split "})
    EXPECT_NE(other.err.find(part), std::string::npos) << part << other.err;
}

TEST_F(Formats, Inspect) {
  must(run("--train-iters 4 --save-interval 2 --save " + *this / "ck"));
  const Ran list = must("inspect " + *this / "ck");
  for (const char* part : {"format      native", "iteration   4", "num_layers 2",
                           "checksums   xxh64 of 2 files: all right", "\ndecoder.layers.1.mlp.linear_fc1.weight "})
    EXPECT_NE(list.out.find(part), std::string::npos) << part << "\n" << list.out;
  const Ran one = must("inspect " + *this / "ck" + " --tensor decoder.final_layernorm.weight --ckpt-step 2");
  EXPECT_NE(one.out.find("shape       [32]"), std::string::npos) << one.out;
  EXPECT_NEAR(last_number(one.out, "mean "), 1, 0.1);
  EXPECT_EQ(must("inspect --ckpt-step 2 --tensor decoder.final_layernorm.weight " + *this / "ck").out, one.out);
  const Ran differ = megalith("inspect --diff " + *this / "ck/iter_0000002" + " " + *this / "ck/iter_0000004");
  EXPECT_EQ(differ.exit_code, 1);
  EXPECT_NE(differ.out.find(" tensors equal, "), std::string::npos) << differ.out;
  EXPECT_GT(last_number(differ.out, "embedding.word_embeddings.weight "), 0);
  const Ran index = must("inspect " + data() + ".idx");
  EXPECT_NE(index.out.find("format      indexed dataset\ndocuments   "), std::string::npos) << index.out;
  expect_refused("inspect " + *this / "nothing", "is not there");
  expect_refused("inspect " + *this / "ck" + " --tensor x", "no tensor x");
  expect_refused("inspect", "nothing to look at");
  // Every kind of damage is reported.
  std::string shard = slurp(*this / "ck/iter_0000004/shard_00000.safetensors");
  shard[shard.size() / 4] ^= 1;  // after the header, and in weights: evaluate reads no moments
  spit(*this / "ck/iter_0000004/shard_00000.safetensors", shard);
  expect_refused("inspect " + *this / "ck", "wrong checksum; tensor ");
  const std::string whole = *this / "ck/iter_0000002", load = " --load " + *this / "ck";
  const std::string evaluate = "evaluate --tokenizer-type ByteTokenizer --data-path " + data() + load;
  const auto refused = [&] {
    for (const std::string& command :
         {"inspect " + *this / "ck", "inspect --diff " + *this / "ck " + whole,
          "convert --to hf --save " + *this / "hf" + load, "generate --prompt a" + load, evaluate})
      expect_refused(command, whole + " is whole: give that, or --ckpt-step 2");
    EXPECT_FALSE(fs::exists(*this / "hf"));
  };
  refused();
  spit(*this / "ck/iter_0000004/manifest.json", "");
  refused();
  must(evaluate + " --eval-iters 1 --ckpt-step 2");
  must("convert --to hf --ckpt-step 2 --load " + *this / "ck" + " --save " + *this / "hf");
}

// A file may have any tensor name. Control characters in names are printed as text.
TEST_F(Formats, NamesAreShownAsText) {
  const float x = 1;
  const std::string name = "a\nb\x1b[2J";
  for (const char* dir : {"a", "b"})
    save_checkpoint(*this / dir, {.iteration = 1}, std::vector<SaveTensor>{{name, {1}, DType::f32, &x}});
  for (const std::string& command : {" " + *this / "a", " --all --diff " + *this / "a " + *this / "b"}) {
    const Ran ran = must("inspect" + command);
    EXPECT_NE(ran.out.find("a\\nb\\x1b[2J"), std::string::npos) << ran.out;
    EXPECT_EQ((ran.out + ran.err).find('\x1b'), std::string::npos) << ran.out << ran.err;
  }
}

// Each model has a complex tensor. The tensors cannot be compared, so they are not equal.
TEST_F(Formats, WhatCannotBeComparedIsNotEqual) {
  for (const char* name : {"a", "b"}) {
    const std::string header = R"({"x":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})";
    const u64 length = header.size();
    fs::create_directories(*this / name);
    spit(*this / name + "/config.json", "{\"model_type\":\"other\"}");
    spit(*this / name + "/model.safetensors",
         std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + std::string(8, *name));
  }
  const Ran ran = megalith("inspect --diff " + *this / "a" + " " + *this / "b");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("x (C64): not compared, it is of a type that is not read\n"
                         "0 tensors equal, 0 different, 1 not compared; "),
            std::string::npos)
      << ran.out << ran.err;
  EXPECT_NE(ran.err.find("under the files' own names, because a model is unknown: "), std::string::npos) << ran.err;
}

TEST_F(Formats, FlagsWithoutEffectAreRefused) {
  const std::string ck = *this / "ck", hf = *this / "hf", out = " --save " + *this / "out";
  must(run("--train-iters 2 --save-interval 2 --save " + ck));
  must("convert --load " + ck + " --to hf --save " + hf);
  expect_refused("convert --to native --family llama --load " + ck + out, "--family llama has no effect");
  expect_refused("convert --to torch_dist --max-shard-size 1GB --load " + ck + out, "--max-shard-size 1GB has no");
  expect_refused("convert --to native --dtype bf16 --load " + ck + out, "--no-load-optim");
  must("convert --to native --dtype bf16 --no-load-optim --load " + ck + out);
  fs::create_directories(*this / "empty");
  expect_refused("convert --to hf --load " + ck + out + "hf --tokenizer-dir " + *this / "empty",
                 "holds none of tokenizer.json");
  fs::create_directories(*this / "there");  // existing content stays
  for (const char* to : {"new/a/b", "there"})
    expect_refused("convert --to hf --family gpt2 --load " + ck + " --save " + *this / to, "gpt2");
  EXPECT_FALSE(fs::exists(*this / "new"));
  EXPECT_TRUE(fs::exists(*this / "there") && fs::is_empty(*this / "there"));
  const std::string step = "no iterations: leave out --ckpt-step 2";
  expect_refused("convert --to native --ckpt-step 2 --load " + hf + out, step);
  expect_refused("inspect --ckpt-step 2 " + hf, step);
  expect_refused("inspect --tensor x --diff " + ck + " " + hf, "--diff compares two checkpoints and nothing else");
  expect_refused("inspect --all " + ck, "--all has no effect without --diff");
  expect_refused("inspect --ckpt-step 2 " + data(), "is a dataset: leave out --ckpt-step");
  expect_refused("inspect " + hf + "/model.safetensors", "model.safetensors is a file: give the directory");
  expect_refused("evaluate --ckpt-step 2 --tokenizer-type ByteTokenizer --data-path " + data() + " --load " + hf, step);
  expect_refused(run("--train-iters 2 --ckpt-step 2 --load " + hf), step);
  expect_refused("inspect --ckpt-step 1 " + ck + "/iter_0000002", "wants the directory above it");
  expect_refused(run("--train-iters 2 --non-persistent-local-ckpt-dir " + ck), "without --non-persistent-ckpt-type");
  expect_refused(run("--train-iters 2 --non-persistent-global-ckpt-dir " + ck), "without --non-persistent-ckpt-type");
}

// Converts a model of a few hundred megabytes to every format. The conversion needs a fraction of the model's size in
// memory.
TEST_F(Formats, ConversionsHoldPiecesOnly) {
  const i64 vocab = 60000, hidden = 1024;
  const auto bytes = vocab * hidden * 4;  // of the embedding; the output layer has the same size
  const std::string at = "model.layers.0.";
  std::vector<SparseTensor> tensors = {{"lm_head.weight", vocab, hidden},
                                       {"model.embed_tokens.weight", vocab, hidden},
                                       {"model.norm.weight", hidden, 0},
                                       {at + "input_layernorm.weight", hidden, 0},
                                       {at + "post_attention_layernorm.weight", hidden, 0}};
  for (const char* p : {"q", "k", "v", "o"})
    tensors.push_back({at + "self_attn." + p + "_proj.weight", hidden, hidden});
  for (const char* p : {"gate", "up"}) tensors.push_back({at + "mlp." + p + "_proj.weight", 64, hidden});
  tensors.push_back({at + "mlp.down_proj.weight", hidden, 64});
  const i64 end = write_sparse_model(*this / "hf",
                                     fmt::format(R"({{"model_type": "llama", "hidden_size": {}, "intermediate_size": 64,
    "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": {}, "tie_word_embeddings": false}})",
                                                 hidden, vocab),
                                     tensors);
  for (const char* way : {"hf torch_dist", "torch_dist native", "native hf2"}) {
    const auto words = words_of(way);
    const Ran ran = must("convert --load " + *this / words[0] + " --to " + (words[1] == "hf2" ? "hf" : words[1]) +
                         " --save " + *this / words[1]);
    EXPECT_LT(ran.peak_bytes, bytes) << way << ": " << ran.peak_bytes << " bytes for a model of " << end;
  }
  EXPECT_GE(fs::file_size(*this / "hf2/model.safetensors"), u64(end));
}

// The shards have tensors of hundreds of experts. Memory never exceeds two shards.
TEST_F(Formats, ExpertsAreHeldInPiecesOnly) {
  const i64 hidden = 512, width = 1024, experts = 32, layers = 2, shard = i64{48} << 20;
  std::vector<SparseTensor> tensors = {
      {"lm_head.weight", 8, hidden}, {"model.embed_tokens.weight", 8, hidden}, {"model.norm.weight", hidden, 0}};
  for (i64 n = 0; n < layers; ++n) {
    const std::string at = fmt::format("model.layers.{}.", n), moe = at + "block_sparse_moe.";
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
      tensors.push_back({at + norm + ".weight", hidden, 0});
    for (const char* p : {"q", "k", "v", "o"})
      tensors.push_back({at + "self_attn." + p + "_proj.weight", hidden, hidden});
    tensors.push_back({moe + "gate.weight", experts, hidden});
    for (i64 e = 0; e < experts; ++e)
      for (const char* w : {"w1", "w2", "w3"}) {
        const bool down = w[1] == '2';
        tensors.push_back(
            {fmt::format("{}experts.{}.{}.weight", moe, e, w), down ? hidden : width, down ? width : hidden});
      }
  }
  const i64 end =
      write_sparse_model(*this / "hf",
                         fmt::format(R"({{"model_type": "mixtral", "hidden_size": {}, "intermediate_size": {},
    "num_hidden_layers": {}, "num_attention_heads": 4, "num_key_value_heads": 4, "num_local_experts": {},
    "vocab_size": 8, "tie_word_embeddings": false}})",
                                     hidden, width, layers, experts),
                         tensors);
  EXPECT_GT(end, 8 * shard);
  for (const char* way : {"hf torch_dist", "torch_dist native", "native hf2"}) {
    const auto words = words_of(way);
    const Ran ran = must("convert --load " + *this / words[0] + " --to " + (words[1] == "hf2" ? "hf" : words[1]) +
                         (words[1] == "hf2" ? " --max-shard-size 48MiB" : "") + " --save " + *this / words[1]);
    EXPECT_LT(ran.peak_bytes, 2 * shard) << way << ": " << ran.peak_bytes << " bytes for a model of " << end;
  }
  EXPECT_FALSE(fs::exists(*this / "hf2/model.safetensors")) << "several shards";
}

}  // namespace
}  // namespace megalith::test
