// Recognizes the content of a directory, and selects among several checkpoints of several formats.
#include "ckpt/any_checkpoint.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ckpt/convert.h"
#include "ckpt/inspect.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

class AnyCheckpoints : public testing::Test {
 protected:
  // dir_/model: a Hugging Face model of one layer, all zeros.
  void SetUp() override {
    constexpr int kHidden = 8, kVocab = 16;
    const std::string layer = "model.layers.0.";
    std::vector<std::pair<std::string, int>> tensors = {{"lm_head.weight", kVocab},
                                                        {"model.embed_tokens.weight", kVocab},
                                                        {"model.norm.weight", 0},
                                                        {layer + "input_layernorm.weight", 0},
                                                        {layer + "post_attention_layernorm.weight", 0}};
    for (const char* name :
         {"self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o", "mlp.gate", "mlp.up", "mlp.down"})
      tensors.emplace_back(layer + name + "_proj.weight", kHidden);
    std::string header;
    int end = 0;
    for (const auto& [name, rows] : tensors) {
      const int begin = end;
      end += std::max(rows, 1) * kHidden * 4;
      header +=
          fmt::format("{}\"{}\":{{\"dtype\":\"F32\",\"shape\":[{}{}],\"data_offsets\":[{},{}]}}",
                      header.empty() ? "{" : ",", name, rows > 0 ? fmt::format("{},", rows) : "", kHidden, begin, end);
    }
    header += "}";
    const u64 length = header.size();
    fs::create_directories(dir_ / "model");
    spit(dir_ / "model/model.safetensors", std::string(reinterpret_cast<const char*>(&length), sizeof length) + header +
                                               std::string(std::size_t(end), '\0'));
    spit(dir_ / "model/config.json", R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 16, "tie_word_embeddings": false})");
  }
  // Saves the model in dir_/to as a checkpoint of this iteration.
  void put(const std::string& to, CkptFormat format, i64 iteration) {
    AnyCheckpoint from = open_any_checkpoint(dir_ / "model");
    from.manifest.iteration = iteration;
    convert_checkpoint(from, format, dir_ / "made", {});
    const std::string name = fmt::format("iter_{:07}", iteration);
    fs::create_directories(dir_ / to);
    fs::rename(dir_ / "made/" + name, dir_ / to + "/" + name);
    fs::rename(dir_ / "made/latest_checkpointed_iteration.txt", tracker(to));
    fs::remove_all(dir_ / "made");
  }
  std::string tracker(const std::string& of) const { return dir_ / of + "/latest_checkpointed_iteration.txt"; }
  i64 opened(const std::string& name, const AnyOpenOptions& options = {}) {
    return open_any_checkpoint(dir_ / name, options).manifest.iteration;
  }

  TempDir dir_;
};

// A run that started from a Hugging Face model and saves in the same directory resumes from its own save.
TEST_F(AnyCheckpoints, go_before_a_model_beside_them) {
  put("run", CkptFormat::native, 4);
  put("run", CkptFormat::native, 6);
  for (const char* name : {"config.json", "model.safetensors"})
    fs::copy_file(dir_ / "model/" + name, dir_ / "run/" + name);
  EXPECT_EQ(find_checkpoint(dir_ / "run").value().format, CkptFormat::native);
  EXPECT_EQ(opened("run"), 6);
  EXPECT_EQ(opened("run", {.iteration = 4}), 4);
  EXPECT_EQ(opened("run", {.format = CkptFormat::hf}), 0);
  fs::remove_all(dir_ / "run/iter_0000004"), fs::remove_all(dir_ / "run/iter_0000006"), fs::remove(tracker("run"));
  EXPECT_EQ(find_checkpoint(dir_ / "run").value().format, CkptFormat::hf);
}

TEST_F(AnyCheckpoints, of_another_format_than_asked_for_are_named) {
  put("ours", CkptFormat::native, 6);
  put("theirs", CkptFormat::torch_dist, 6);
  for (const std::string at : {"", "/iter_0000006"}) {
    expect_error([&] { opened("ours" + at, {.format = CkptFormat::torch_dist}); },
                 "ours" + at + " is of format native, not torch_dist: leave out --from torch_dist");
    expect_error([&] { opened("theirs" + at, {.format = CkptFormat::native}); }, "is of format torch_dist, not native");
    EXPECT_EQ(opened("theirs" + at, {.format = CkptFormat::torch_dist}), 6);
  }
  fs::remove(dir_ / "theirs/iter_0000006/.metadata");
  expect_error([&] { opened("theirs", {.format = CkptFormat::torch_dist}); }, "its save was not finished");
  for (const char* at : {"theirs", "theirs/iter_0000006"})
    expect_error([&] { opened(at); }, "/iter_0000006 has no .metadata: its save was not finished, or a copy left it");
}

TEST_F(AnyCheckpoints, of_megatron_need_no_tracker) {
  put("run", CkptFormat::torch_dist, 4);
  put("run", CkptFormat::torch_dist, 6);
  for (const char* names : {"", "garbage", "9"}) {
    spit(tracker("run"), names);
    EXPECT_EQ(find_checkpoint(dir_ / "run").value().format, CkptFormat::torch_dist) << names;
    testing::internal::CaptureStderr();
    EXPECT_EQ(opened("run"), 6) << names;
    EXPECT_NE(testing::internal::GetCapturedStderr().find("names a checkpoint that does not exist"), std::string::npos);
  }
  spit(tracker("run"), "4");
  EXPECT_EQ(opened("run"), 4);
  EXPECT_EQ(opened("run", {.iteration = 6}), 6);
}

// Using an older checkpoint than an intact one would overwrite it.
TEST_F(AnyCheckpoints, of_megatron_are_not_passed_over) {
  put("run", CkptFormat::native, 6);
  put("run", CkptFormat::torch_dist, 10);
  put("run", CkptFormat::native, 12);
  EXPECT_EQ(opened("run"), 12);
  fs::resize_file(dir_ / "run/iter_0000012/shard_00000.safetensors", 1000);
  const std::string message = error_of([&] { opened("run"); });
  EXPECT_NE(message.find("iter_0000012"), std::string::npos) << message;
  EXPECT_NE(message.find("give --ckpt-step 10"), std::string::npos) << message;
  EXPECT_EQ(opened("run", {.iteration = 10}), 10);
}

// Only a resumed run uses an older checkpoint; a tracker that names none is not damage.
TEST_F(AnyCheckpoints, of_ours_are_passed_over_where_that_is_wanted) {
  put("run", CkptFormat::native, 4);
  put("run", CkptFormat::native, 6);
  spit(tracker("run"), "9");
  EXPECT_EQ(opened("run", {.or_older = false}), 6);
  fs::resize_file(dir_ / "run/iter_0000006/shard_00000.safetensors", 1000);
  EXPECT_EQ(opened("run"), 4);
  const std::string whole = dir_ / "run/iter_0000004 is whole: give that, or --ckpt-step 4";
  expect_error([&] { opened("run", {.or_older = false}); }, whole);
  expect_error([&] { open_raw_checkpoint(dir_ / "run"); }, whole);
  EXPECT_EQ(opened("run", {.iteration = 4, .or_older = false}), 4);
}

TEST_F(AnyCheckpoints, of_one_directory_have_one_iteration) {
  put("run", CkptFormat::native, 6);
  EXPECT_EQ(opened("run/iter_0000006/", {.iteration = 6}), 6);
  expect_error([&] { opened("run/iter_0000006", {.iteration = 4}); }, "is one checkpoint: --ckpt-step 4 wants");
}

// Named pipes without writers: a reader would wait forever.
TEST_F(AnyCheckpoints, with_pipes_for_files_are_refused) {
  put("native", CkptFormat::native, 6);
  put("megatron", CkptFormat::torch_dist, 6);
  const std::string native = "native/iter_0000006/", megatron = "megatron/iter_0000006/";
  for (const std::string& file :
       {native + "manifest.json", native + "checksums.txt", native + "shard_00000.safetensors", megatron + ".metadata",
        megatron + "common.pt", megatron + "__0_0.distcp", std::string("model/config.json"),
        std::string("model/model.safetensors")}) {
    const std::string path = dir_ / file;
    fs::rename(path, dir_ / "aside");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const std::string message = error_of([&] { opened(file.substr(0, file.find('/'))); });
    EXPECT_NE(message.find("cannot read " + path + ": it is not a regular file"), std::string::npos) << message;
    fs::rename(dir_ / "aside", path);
  }
  for (const char* run : {"native", "megatron"}) {
    fs::remove(tracker(run));
    ASSERT_EQ(::mkfifo(tracker(run).c_str(), 0600), 0);
    EXPECT_EQ(opened(run), 6);
  }
}

// Otherwise a run would resume from another run's checkpoint.
TEST_F(AnyCheckpoints, are_not_put_among_others) {
  put("run", CkptFormat::native, 6);
  for (const CkptFormat to : {CkptFormat::native, CkptFormat::torch_dist})
    expect_error([&] { convert_checkpoint(open_any_checkpoint(dir_ / "model"), to, dir_ / "run", {}); },
                 "iter_0000006 already exists: choose another directory");
  EXPECT_EQ(slurp(tracker("run")), "6");
}

}  // namespace
}  // namespace megalith
