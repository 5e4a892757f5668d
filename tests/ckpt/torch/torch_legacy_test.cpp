#include "ckpt/torch/torch_legacy.h"

#include <sys/resource.h>

#include "base/read_error.h"
#include "ckpt/inspect.h"
#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_zip_writer.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

// Nested dicts, each with 64 references to the next: few bytes, but 64^4 names for a full traversal.
TEST(TorchLegacy, refuses_dicts_that_are_named_without_end) {
  const auto key = [](int i) { return fmt::format("X\x02{}{}{}{}", '\0', '\0', '\0', fmt::format("{:02}", i)); };
  std::string inner = "N";
  for (int level = 0; level < 4; ++level) {  // a dict whose values are one memo entry
    std::string dict = "}(";
    for (int i = 0; i < 64; ++i) dict += key(i) + (i == 0 ? inner + "q" + char(level) : std::string("h") + char(level));
    inner = dict + "u";
  }
  const std::string model = std::string("X\x05\0\0\0model", 10);
  TempDir dir;
  fs::create_directories(dir / "iter_0000001/mp_rank_00");
  spit(dir / "iter_0000001/mp_rank_00/model_optim_rng.pt",
       torch_archive("\x80\x02}" + model + inner + "s.", "archive"));
  expect_error([&] { open_any_checkpoint(dir.path()); }, "its model has more than 1048576 entries");
}

// One file of a model with these tensors, each of two numbers.
void write_rank(
    const std::string& dir, const std::vector<std::string>& names,
    const std::function<void(PickleWriter&)>& optimizer = [](PickleWriter&) {},
    const std::function<void(PickleWriter&)>& marks = [](PickleWriter&) {}) {
  PickleWriter p;
  p.dict([&] {
    p.entry("checkpoint_version", 3.0);
    p.text("model");
    p.dict([&] {
      for (const std::string& name : names) {
        p.text(name);
        p.call("torch._utils", "_rebuild_tensor_v2", [&] {
          p.persistent(
              [&] { p.text("storage"), p.global("torch", "FloatStorage"), p.text("0"), p.text("cpu"), p.integer(2); });
          const i64 shape[] = {2}, strides[] = {1};
          p.integer(0), p.sizes(shape), p.sizes(strides), p.boolean(false), p.none(), marks(p);
        });
      }
    });
    p.text("args"), p.object("argparse", "Namespace", [&] { p.dict([] {}); });
    p.text("optimizer"), p.dict([&] { optimizer(p); });
  });
  std::string bytes;
  TorchZipWriter zip(
      [&](std::span<const std::byte> part) { bytes.append(reinterpret_cast<const char*>(part.data()), part.size()); });
  zip.record("data.pkl", p.finish()), zip.record("data/0", "12345678"), zip.record("version", "3\n");
  zip.finish();
  fs::create_directories(dir + "/mp_rank_00");
  spit(dir + "/mp_rank_00/model_optim_rng.pt", bytes);
}

TEST(TorchLegacy, drops_no_tensor_and_is_marked) {
  TempDir dir;
  // Of an encoder and a decoder only one would be read.
  write_rank(dir / "two", {"encoder.final_layernorm.weight", "decoder.final_layernorm.weight"});
  expect_error([&] { TorchLegacy{dir / "two"}; }, "its model has decoder.final_layernorm.weight twice");
  // With a single stage there is no copy of its embedding, whatever the arguments say.
  write_rank(dir / "one", {"embedding.word_embeddings.weight", "output_layer.weight"});
  EXPECT_TRUE(TorchLegacy(dir / "one").tensors().find("output_layer.weight"));
  EXPECT_FALSE(is_being_read(dir / "one"));
  const RawCheckpoint raw = open_raw_checkpoint(dir / "one");
  EXPECT_TRUE(is_being_read(dir / "one"));
}

TEST(TorchLegacy, names_a_tensor_that_is_not_what_is_stored) {
  TempDir dir;
  const auto write = [&](bool neg) {
    write_rank(
        dir.path(), {"output_layer.weight"}, [](PickleWriter&) {},
        [neg](PickleWriter& p) { p.dict([&] { p.flag("neg", neg); }); });
  };
  write(false);
  EXPECT_EQ(TorchLegacy(dir.path()).tensors().tensors().size(), 1u);
  write(true);
  expect_error([&] { TorchLegacy{dir.path()}; }, "model_optim_rng.pt: tensor output_layer.weight has the bit neg");
}

TEST(TorchLegacy, counts_steps_beside_moments_as_any_others) {
  const auto steps = [](const std::function<void(PickleWriter&)>& step) {
    TempDir dir;
    write_rank(dir.path(), {"output_layer.weight"},
               [&](PickleWriter& p) { p.text("state"), p.dict([&] { p.integer(0), p.dict([&] { step(p); }); }); });
    return TorchLegacy(dir.path()).optimizer_steps();
  };
  EXPECT_EQ(steps([](PickleWriter& p) { p.entry("step", i64{5}); }), 5);
  EXPECT_EQ(steps([](PickleWriter& p) { p.entry("step", 5.0); }), 5);
  EXPECT_EQ(error_of([&] { (void)steps([](PickleWriter& p) { p.entry("step", i64{-5}); }); }),
            "[megatron] the optimizer's step is -5: want an integer from 0 to 2^53");
}

TEST(TorchLegacy, that_cannot_be_listed_is_not_taken_for_nothing) {
  TempDir dir;
  write_rank(dir.path(), {"embedding.word_embeddings.weight"});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW(is_torch_legacy(dir.path()), UnreachableFile);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(is_torch_legacy(dir.path()));
}

// A state that does not fit is skipped with a message; a state in a damaged file is damage.
TEST(TorchLegacy, takes_no_damaged_file_for_state_that_does_not_fit) {
  TempDir dir;
  write_rank(dir.path(), {"embedding.word_embeddings.weight"});
  EXPECT_EQ(TorchLegacy(dir.path()).state_problem(), "its optimizer has no list of param_groups");
  spit(dir / "mp_rank_00/distrib_optim.pt", std::string(1000, 'x'));
  expect_error([&] { TorchLegacy{dir.path()}; }, "mp_rank_00/distrib_optim.pt is not a zip archive");
}

}  // namespace
}  // namespace megalith
