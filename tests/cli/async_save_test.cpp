// Tests of checkpoints that are written during training, and of non-persistent ones, of which only the latest is kept.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class AsyncSave : public Workshop {
 protected:
  std::string run(const std::string& dir, const std::string& more) {
    return pretrain("--save " + *this / dir + " --load " + *this / dir + " --lr-decay-iters 20 " + more);
  }
  void expect_same_tensors(const std::string& a, const std::string& b) {
    const Ran diff = megalith("inspect --diff " + *this / a + " " + *this / b);
    EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
  }
};

// The next steps change the model while a checkpoint is written. The checkpoint has the state at the save.
TEST_F(AsyncSave, HoldsTheMomentOfTheSave) {
  for (const std::string more : {"--train-iters 6 --save-interval 1 ", "--train-iters 6 --save-interval 1 --bf16 "}) {
    fs::remove_all(*this / "sync"), fs::remove_all(*this / "async");
    must(run("sync", more));
    const Ran ran = must(run("async", more + "--async-save --dist-ckpt-workers 3"));
    EXPECT_NE(ran.out.find("scheduled an async checkpoint save at iteration       6"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("successfully saved checkpoint from iteration       6"), std::string::npos) << ran.out;
    for (int i = 1; i <= 6; ++i) {
      const std::string place = fmt::format("/iter_000000{}", i);
      expect_same_tensors("sync" + place, "async" + place);
    }
  }
}

// The disk fills during a save. The run prints a warning and continues. The previous checkpoint is intact.
TEST_F(AsyncSave, FullDiskIsAWarning) {
  must(run("ck", "--train-iters 2 --save-interval 2"));
  RunLimits full;
  full.file_bytes = 60000;  // less than the tensors of one checkpoint
  const Ran ran = megalith(run("ck", "--train-iters 6 --save-interval 2 --async-save"), full);
  EXPECT_NE(ran.err.find("was not saved, training continues"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("File too large"), std::string::npos) << ran.err;
  EXPECT_EQ(slurp(*this / "ck/latest_checkpointed_iteration.txt"), "2");
  for (const auto& entry : fs::directory_iterator(*this / "ck"))
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
  EXPECT_NE(must(run("ck", "--train-iters 4 --save-interval 2")).out.find("at iteration 2"), std::string::npos);
}

// A run saves more non-persistent checkpoints. Only the latest is kept. A start loads the newer checkpoint. If it is
// damaged, the start loads the older one.
TEST_F(AsyncSave, CopiesAreLoadedIfTheyAreNewer) {
  must(run("whole", "--train-iters 8 --save-interval 8"));
  const std::string kinds[] = {"--non-persistent-ckpt-type global ",
                               "--non-persistent-ckpt-type local --non-persistent-local-ckpt-dir " + *this / "local "};
  const std::string places[] = {"ck/non_persistent", "local/rank_00000"};
  for (int k = 0; k < 2; ++k) {
    fs::remove_all(*this / "ck");
    const std::string flags = kinds[k] + "--save-interval 4 --non-persistent-save-interval 3 ";
    must(run("ck", flags + "--train-iters 7"));
    fs::remove_all(*this / "ck/iter_0000007");  // as if the run was killed before it ended
    spit(*this / "ck/latest_checkpointed_iteration.txt", "4");
    int copies = 0;
    for (const auto& entry : fs::directory_iterator(*this / places[k])) copies += entry.is_directory() ? 1 : 0;
    ASSERT_EQ(copies, 1) << "one copy is kept";
    const Ran other =
        must(run("ck", "--train-iters 4 --save-interval 4"));  // no steps are left, and the run writes nothing
    EXPECT_EQ(other.err.find("ck/non_persistent/iter_0000006 is newer") != std::string::npos, k == 0) << other.err;
    if (k == 0) fs::rename(*this / "ck", *this / "moved"), fs::create_directory_symlink("moved", *this / "ck");
    const Ran ran = must(run("ck", flags + "--train-iters 8"));
    EXPECT_NE(ran.out.find("non-persistent checkpoint of iteration 6"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("at iteration 6"), std::string::npos) << ran.out;
    fs::remove_all(*this / "ck/iter_0000004"), fs::remove_all(*this / "ck/iter_0000008");
    fs::remove(*this / "ck/latest_checkpointed_iteration.txt");  // only the non-persistent checkpoint is left
    const Ran from_copy = must(run("ck", flags + "--train-iters 8"));
    EXPECT_NE(from_copy.out.find("at iteration 6"), std::string::npos) << from_copy.out;
    EXPECT_EQ(from_copy.out.find("random weights"), std::string::npos) << from_copy.out;
    expect_same_tensors("whole/iter_0000008", "ck/iter_0000008");
  }
}

// The run starts from a model directory, whose settings are not in the flags. It was killed before its first
// checkpoint.
TEST_F(AsyncSave, CopiesTellTheModelWhereThereIsNoCheckpoint) {
  for (const std::string& kind : {std::string("global"), "local --non-persistent-local-ckpt-dir " + *this / "local"}) {
    fs::remove_all(*this / "ck");
    const std::string flags =
        "pretrain-gpt --seq-length 16 --micro-batch-size 1 --mock-data --tokenizer-type NullTokenizer --eval-iters 0 "
        "--lr 1e-3 --save-interval 6 --non-persistent-save-interval 4 --non-persistent-ckpt-type " +
        kind + " --train-iters 7 --save " + *this / "ck";
    must(flags + " --load " + golden("llama"));
    for (const char* later : {"ck/iter_0000006", "ck/iter_0000007", "ck/latest_checkpointed_iteration.txt"})
      fs::remove_all(*this / later);
    const Ran ran = must(flags + " --load " + *this / "ck");
    EXPECT_NE(ran.out.find("at iteration 4"), std::string::npos) << ran.out;
  }
}

// The damaged checkpoint has no readable information, not even the model.
TEST_F(AsyncSave, CopiesStandInForACheckpointThatIsNotWhole) {
  const std::string flags =
      "--train-iters 6 --save-interval 3 --non-persistent-save-interval 1 --non-persistent-ckpt-type global ";
  must(run("ck", flags + "--exit-interval 5"));
  fs::remove_all(*this / "ck/iter_0000005");
  spit(*this / "ck/latest_checkpointed_iteration.txt", "3");
  spit(*this / "ck/iter_0000003/manifest.json", "");
  const Ran ran = must(run("ck", flags));
  EXPECT_NE(ran.err.find("; loading the non-persistent checkpoint"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("at iteration 5"), std::string::npos) << ran.out;
}

TEST_F(AsyncSave, CopiesOfAnotherRunAreNeitherLoadedNorDeleted) {
  const std::string kinds[] = {"global --non-persistent-global-ckpt-dir ", "local --non-persistent-local-ckpt-dir "};
  for (const std::string& kind : kinds) {
    for (const char* place : {"one", "two", "copies"}) fs::remove_all(*this / place);
    const std::string flags =
        "--train-iters 8 --save-interval 8 --non-persistent-save-interval 3 --non-persistent-ckpt-type " + kind +
        *this / "copies ";
    must(run("one", flags));
    expect_refused(run("two", flags + "--seed 7"), "belongs to another run, with --save " + *this / "one");
  }
}

// There are two working directories, so the same relative name means two paths.
TEST_F(AsyncSave, CopiesOfAnotherRunWithTheSameRelativeNameAreNeitherLoadedNorDeleted) {
  const fs::path here = fs::current_path();
  const std::string flags =
      "--train-iters 4 --save-interval 8 --non-persistent-save-interval 3 --non-persistent-ckpt-type local "
      "--non-persistent-local-ckpt-dir " +
      *this / "copies" + " --save ck --load ck ";
  for (const char* place : {"one", "two"}) {
    fs::create_directory(*this / place);
    fs::current_path(*this / place);
    if (place == std::string("one"))
      must(pretrain(flags));
    else
      expect_refused(pretrain(flags + "--seed 7"), "belongs to another run, with --save " + *this / "one/ck");
  }
  fs::current_path(here);
}

// If a run resumes from an older checkpoint, it removes later ones.
TEST_F(AsyncSave, CopiesOfABranchThatWasLeftAreNotLoaded) {
  const std::string kinds[] = {"global ", "local --non-persistent-local-ckpt-dir " + *this / "local "};
  for (const std::string& kind : kinds) {
    fs::remove_all(*this / "ck");
    const std::string flags = "--save-interval 4 --non-persistent-save-interval 3 --non-persistent-ckpt-type " + kind;
    must(run("ck", flags + "--train-iters 11"));               // a non-persistent checkpoint of iteration 9 stays
    must(run("ck", flags + "--train-iters 5 --ckpt-step 4"));  // no non-persistent checkpoint is loaded
    const Ran ran = must(run("ck", flags + "--train-iters 7"));
    EXPECT_NE(ran.out.find("successfully loaded checkpoint from " + *this / "ck [ t 1/1, p 1/1 ] at iteration 5"),
              std::string::npos)
        << ran.out;
  }
}

// This is also true if the previous run had no non-persistent flags. The non-persistent checkpoints of the continued
// branch stay.
TEST_F(AsyncSave, CopiesOfABranchThatWasLeftWithoutTheFlagsAreNotLoaded) {
  const std::string copies = "--save-interval 4 --non-persistent-save-interval 3 --non-persistent-ckpt-type global ";
  must(run("ck", copies + "--train-iters 11"));  // a non-persistent checkpoint of iteration 9 stays
  must(run("ck", "--save-interval 4 --train-iters 12"));
  EXPECT_TRUE(fs::exists(*this / "ck/non_persistent/iter_0000009"));
  must(run("ck", "--save-interval 4 --ckpt-step 4 --train-iters 8"));
  EXPECT_FALSE(fs::exists(*this / "ck/non_persistent/iter_0000009"));
  const Ran ran = must(run("ck", copies + "--train-iters 10"));
  EXPECT_NE(ran.out.find("[ t 1/1, p 1/1 ] at iteration 8"), std::string::npos) << ran.out;
}

TEST_F(AsyncSave, CopiesNeverDeleteCheckpoints) {
  const std::string flags =
      "--train-iters 8 --save-interval 2 --non-persistent-save-interval 3 --non-persistent-ckpt-type global ";
  const Ran ran = megalith(run("ck", flags + "--non-persistent-global-ckpt-dir " + *this / "./ck"));
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.err.find("/./ck is --save: of the copies only the latest stays"), std::string::npos) << ran.err;
  must(run("old", "--train-iters 6 --save-interval 2"));
  const std::string place = "--non-persistent-global-ckpt-dir " + *this / "old";
  expect_refused(pretrain(flags + place + " --save " + *this / "ck --load " + *this / "old"), "/old is --load: of the");
  for (const std::string format : {"native", "torch_dist"}) {
    fs::remove_all(*this / "old");
    must(run("old", "--train-iters 6 --save-interval 2 --ckpt-format " + format));
    expect_refused(run("ck", flags + place), place + ": ");
    expect_refused(run("ck", flags + place), ": only the latest non-persistent checkpoint is kept");
    for (const char* step : {"2", "4", "6"}) EXPECT_TRUE(fs::exists(*this / "old/iter_000000" + step)) << step;
  }
}

}  // namespace
}  // namespace megalith::test
