// Tests fp8-check with test vectors of another program. It must report errors in every tensor and refuse damaged files.
#include <filesystem>

#include "base/rng.h"
#include "ckpt/tensors/safetensors.h"
#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

const char* const kFiles[] = {"casts", "scales", "delayed", "tensorwise", "blockwise", "mxfp8", "nvfp4", "loss_scale"};

class Fp8Check : public Workshop {
 protected:
  // Checks a directory with one file of these bytes.
  Ran check_file(const std::string& name, const std::string& bytes, const std::vector<std::string>& more = {}) {
    const std::string dir = *this / "vectors";
    fs::remove_all(dir);
    fs::create_directory(dir);
    spit(dir + "/" + name + ".safetensors", bytes);
    std::vector<std::string> words = {dir};
    words.insert(words.end(), more.begin(), more.end());
    return run_program("fp8-check", words);
  }
  // Checks the repository's file, with each occurrence of `from` in its header replaced.
  Ran check_header(const std::string& name, const std::string& from, const std::string& to) {
    std::string bytes = slurp(path_of(name));
    const size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    bytes.replace(at, from.size(), to);
    return check_file(name, bytes);
  }
  static std::vector<TensorInfo> tensors_of(const std::string& name) {
    return TensorFiles::open_file(path_of(name)).tensors();
  }
  static std::string path_of(const std::string& name) { return golden("fp8/" + name + ".safetensors"); }
};

void expect_error(const Ran& ran, const std::string& part) {
  EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.err;
  EXPECT_EQ(ran.err.find("fp8-check: "), 0u) << ran.err;
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err << part;
}

TEST_F(Fp8Check, Agrees) {
  for (const std::string& dir : with_shared(golden("fp8"), shared_vectors("fp8"))) {
    const Ran ran = run_program("fp8-check", {dir, "--device", "cpu"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    EXPECT_EQ(ran.out.find("FAIL"), std::string::npos) << ran.out;
    for (const char* line : {"casts bf16/e5m2", "scales current/e4m3_pow2_inv", "delayed run/saturated",
                             "tensorwise dw", "blockwise x/scale_inv_t_gemm", "mxfp8 dy/e8m0_t_tiles",
                             "nvfp4 x/rotated_t", "loss_scale run2/hysteresis_after"})
      EXPECT_NE(ran.out.find(std::string("pass  ") + line), std::string::npos) << line;
  }
}

// The ops of training give the expected results. A wrong expected result is reported.
TEST_F(Fp8Check, AgreesByOps) {
  for (const std::string& dir : with_shared(golden("fp8"), shared_vectors("fp8"))) {
    const Ran ran = run_program("fp8-check", {dir, "--device", "cpu-ops"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    EXPECT_EQ(ran.out.find("FAIL"), std::string::npos) << ran.out;
    for (const char* line : {"pass  casts bf16/e5m2", "pass  casts value/e2m1", "pass  scales current/e4m3_inv",
                             "pass  delayed run/scale", "pass  delayed run/saturated", "pass  tensorwise dw",
                             "pass  blockwise x/scale_inv_t ", "pass  mxfp8 dy/e8m0_t ", "pass  nvfp4 x/rotated_t",
                             "none  loss_scale run2/hysteresis_after", "none  scales nv/global_encode"})
      EXPECT_NE(ran.out.find(line), std::string::npos) << line;
  }
}

TEST_F(Fp8Check, NoticesByOps) {
  for (const auto& [name, tensor] :
       std::initializer_list<std::pair<const char*, const char*>>{{"casts", "f32/e5m2"},
                                                                  {"casts", "value/e4m3"},
                                                                  {"scales", "mx/e8m0_e4m3"},
                                                                  {"scales", "current/e5m2_inv"},
                                                                  {"delayed", "run/scale"},
                                                                  {"tensorwise", "x/amax"},
                                                                  {"tensorwise", "dx"},
                                                                  {"blockwise", "dy/codes_t"},
                                                                  {"blockwise", "w/scale_inv"},
                                                                  {"mxfp8", "dw"},
                                                                  {"nvfp4", "w/scales"},
                                                                  {"nvfp4", "hadamard"}}) {
    const TensorInfo t = TensorFiles::open_file(path_of(name)).at(tensor);
    std::string changed = slurp(path_of(name));
    char& last = changed.at(size_t(t.offset + t.bytes - 1));
    last = char(last ^ (t.stored_type == "U8" ? 0x01 : 0x40));
    const Ran ran = check_file(name, changed, {"--device", "cpu-ops"});
    EXPECT_EQ(ran.exit_code, 1) << name << " " << tensor << ran.out << ran.err;
    EXPECT_NE(ran.out.find(fmt::format("FAIL  {} {} ", name, tensor)), std::string::npos) << ran.out;
  }
}

// One number of any input or expected tensor is changed. The check must find a difference.
TEST_F(Fp8Check, NoticesEveryTensor) {
  for (const std::string name : kFiles) {
    const std::string bytes = slurp(path_of(name));
    for (const TensorInfo& t : tensors_of(name)) {
      std::string changed = bytes;
      char& last = changed.at(size_t(t.offset + t.bytes - 1));
      last = char(last ^ (t.stored_type == "U8" ? 0x01 : 0x40));
      const Ran ran = check_file(name, changed);
      if (t.name.ends_with("/settings")) {
        EXPECT_NE(ran.exit_code, 0) << t.name;  // an infinite window is refused
        continue;
      }
      EXPECT_EQ(ran.exit_code, 1) << name << " " << t.name << ran.out << ran.err;
      EXPECT_NE(ran.out.find("FAIL  " + name), std::string::npos) << t.name;
    }
  }
}

TEST_F(Fp8Check, SaysWhatDiffers) {
  std::string bytes = slurp(path_of("mxfp8"));
  const TensorInfo codes = TensorFiles::open_file(path_of("mxfp8")).at("w/codes");
  bytes.at(size_t(codes.offset + 32 * 3 + 7)) = '\x11';
  bytes.at(size_t(codes.offset + 32 * 5)) = '\x22';
  const Ran ran = check_file("mxfp8", bytes);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("2 of 1024 differ, the first at [3, 7]: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(", want 11\n"), std::string::npos) << ran.out;
}

TEST_F(Fp8Check, MissesEveryTensor) {
  for (const std::string name : kFiles)
    for (const TensorInfo& t : tensors_of(name)) {
      const Ran ran = check_header(name, "\"" + t.name + "\":", "\"Z" + t.name.substr(1) + "\":");
      expect_error(ran, name + ".safetensors");
    }
}

TEST_F(Fp8Check, NamesWhatIsWrongWithAFile) {
  expect_error(check_header("tensorwise", "\"x/codes\":", "\"x/modes\":"), "has no tensor \"x/codes\"");
  expect_error(check_header("casts", "\"f32/in\":{\"dtype\":\"F32\"", "\"f32/in\":{\"dtype\":\"I32\""),
               "tensor \"f32/in\" is I32");
  expect_error(check_header("mxfp8", "[32,32]", "[16,64]"), "[16, 64]");
  expect_error(check_header("tensorwise", "[8,6]", "[6,8]"), "want");
  expect_error(check_header("delayed", "_h3_margin2/history_after\":", "_h9_margin2/history_after\":"), "_h");
  for (const std::string name : kFiles) {
    const std::string bytes = slurp(path_of(name));
    for (const size_t size : {size_t(0), size_t(7), size_t(100), bytes.size() / 2, bytes.size() - 1})
      expect_error(check_file(name, bytes.substr(0, size)), "truncated");
  }
  expect_error(check_file("casts", slurp(path_of("scales"))), "has no tensor \"f32/in\"");
  expect_error(check_file("fasts", slurp(path_of("casts"))), "fasts.safetensors: no check is of this name");
}

// Any changed byte is reported and never causes a crash.
TEST_F(Fp8Check, SurvivesDamage) {
  for (const std::string name : kFiles) {
    const std::string bytes = slurp(path_of(name));
    for (u64 i = 0; i < 30; ++i) {
      std::string damaged = bytes;
      const size_t at = i < 20 ? mix(i, 1) % 3000 : mix(i, 1) % bytes.size();
      damaged.at(at % bytes.size()) = char(mix(i, 2));
      const Ran ran = check_file(name, damaged);
      EXPECT_TRUE(ran.exit_code >= 0 && ran.exit_code <= 2) << name << " " << i << ran.err;
    }
  }
}

TEST_F(Fp8Check, GarbageIsAnErrorOfItsOwn) {
  const std::string empty = *this / "empty", file = *this / "file", nested = *this / "nested";
  fs::create_directory(empty);
  spit(file, "nonsense");
  fs::create_directories(nested + "/casts.safetensors");
  expect_error(run_program("fp8-check", {}), "usage");
  expect_error(run_program("fp8-check", {*this / "nothing"}), "is no directory");
  expect_error(run_program("fp8-check", {file}), "is no directory");
  expect_error(run_program("fp8-check", {empty}), "has no files");
  expect_error(run_program("fp8-check", {nested}), "casts.safetensors");
  expect_error(run_program("fp8-check", {golden("fp8"), "--device", "tpu"}), "--device tpu");
  expect_error(run_program("fp8-check", {golden("fp8"), "more"}), "more");
  expect_error(run_program("fp8-check", {golden("fp8"), "--bf16"}), "--bf16");
}

}  // namespace
}  // namespace megalith::test
