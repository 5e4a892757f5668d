#include "facts/facts_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/error_of.h"

namespace megalith {

namespace {

DeviceFacts some() {
  DeviceFacts f;
  f.name = "test-card", f.device = "A \"card\"", f.measured = true, f.recorded = "2026-11-25";
  f.memory_bytes = i64{80} << 30, f.reserved_bytes = 500 << 20, f.nccl_bytes = 7, f.nccl_bytes_each = 8;
  f.sms = 132, f.shared_memory = 232448, f.capability = 90;
  f.peak_tflops = {{"bf16", 989}}, f.hbm_gbps = 3000, f.launch_us = 2.5, f.together = 0.98, f.overlap_slowdown = 1.07;
  f.memory_curve = {{1e5, 0.2}, {1e8, 0.9}};
  f.node = {450, 8, 0.5, {{1e6, 60}, {1e9, 370}}}, f.network = {50, 15, 4, {}}, f.watts = 700;
  f.pcie_gbps = 50;
  f.transfers = {{"all_gather", 4, true, {{1e6, 50}, {1e8, 200}}}, {"send", 2, false, {{1e6, 20}}}};
  f.beside = {1.25, 1.5, 2, 1.125};
  f.products = {{"bf16 -> bf16, nt", {4096, 1024, 512}, 2.0 * 4096 * 1024 * 512, 1e-4}};
  f.attention = {{"attention bf16", {1024, 1024, 64, 12, 8}, 1e11, 3e-4}};
  f.kernels = {{"add bf16,bf16 -> bf16", {3000000, 768}, 3e6, 2e-6}};
  f.product_workspaces = {{"4096x1024x512 a bf16 512:1", 33554432}, {"another", -1}};
  f.attention_workspaces = {{"8b 12g", 256}};
  return f;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = print_facts(some());
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST(FactsFile, what_is_printed_is_read_again) {
  const std::string text = print_facts(some());
  const DeviceFacts read = parse_facts(text, "here");
  EXPECT_EQ(print_facts(read), text);
  EXPECT_EQ(read.memory_bytes, i64{80} << 30);
  EXPECT_EQ(read.beside, (BesideFacts{1.25, 1.5, 2, 1.125}));
  ASSERT_EQ(read.transfers.size(), 2u);
  EXPECT_TRUE(read.transfers[0].lane && read.transfers[0].ranks == 4);
  EXPECT_EQ(read.transfers[1].busbw, (BandwidthCurve{{1e6, 20}}));
  EXPECT_EQ(read.device, "A \"card\"");
  EXPECT_NEAR(read.products.at(0).seconds, 1e-4, 1e-9);
  EXPECT_EQ(read.products[0].sizes, (std::vector<i64>{4096, 1024, 512}));
  EXPECT_NEAR(read.attention.at(0).seconds, 3e-4, 1e-8);
  EXPECT_NEAR(read.kernels.at(0).seconds, 2e-6, 1e-10);
  EXPECT_EQ(read.product_workspaces.at("another"), -1);
}

TEST(FactsFile, mistakes_are_told_in_a_line) {
  EXPECT_EQ(error_of([] { parse_facts(with("sms: 132\n", ""), "f.yaml"); }), "hardware file f.yaml: no sms: give it");
  EXPECT_EQ(error_of([] { parse_facts(with("gpus: 8, ", ""), "f.yaml"); }),
            "hardware file f.yaml: no node.gpus: give it");
  EXPECT_EQ(error_of([] { parse_facts(with("sms:", "smms: 1\nsms:"), "f.yaml"); }),
            "hardware file f.yaml: smms is no known key: take it out");
  EXPECT_EQ(error_of([] { parse_facts(with("hbm_gbps: 3000", "hbm_gbps: -1"), "f.yaml"); }),
            "hardware file f.yaml: hbm_gbps is -1: want more than 0");
  EXPECT_EQ(error_of([] { parse_facts(with("hbm_gbps: 3000", "hbm_gbps: fast"), "f.yaml"); }),
            "hardware file f.yaml: hbm_gbps can't be 'fast': give it another value");
  EXPECT_EQ(error_of([] { parse_facts(with("[1e+08, 0.9]", "[1e+04, 0.9]"), "f.yaml"); }),
            "hardware file f.yaml: memory_curve: the first numbers of its pairs must rise, all be above 0");
  const auto told = [](const std::string& from, const std::string& to) {
    return error_of([&] { parse_facts(with(from, to), "f.yaml"); });
  };
  EXPECT_EQ(told("overlap_slowdown: 1.07", "overlap_slowdown: .nan"),
            "hardware file f.yaml: overlap_slowdown is nan: want 1 or more");
  EXPECT_EQ(told("launch_us: 2.5", "launch_us: -1"), "hardware file f.yaml: launch_us is -1: want 0 or more");
  EXPECT_EQ(told("launch_us: 2.5", "launch_us: .inf"), "hardware file f.yaml: launch_us is inf: want 0 or more");
  EXPECT_EQ(told("{bf16: 989}", "{bf16: .nan}"), "hardware file f.yaml: peak_tflops.bf16 is nan: want more than 0");
  EXPECT_EQ(told("{bf16: 989}", "[989]"), "hardware file f.yaml: peak_tflops must be keys with values");
  EXPECT_EQ(told("[1e+08, 0.9]", "[1e+08, .inf]"),
            "hardware file f.yaml: memory_curve: the first numbers of its pairs must rise, all be above 0");
  EXPECT_EQ(told("sms: 132", "sms: 132\nsms: 66"), "hardware file f.yaml: sms is there twice: take one out");
  EXPECT_NE(error_of([] { parse_facts("a: [", "f.yaml"); }), "");
  EXPECT_NE(error_of([] { parse_facts("- 1", "f.yaml"); }), "");
}

TEST(FactsFile, a_file_that_is_like_itself_is_a_mistake) {
  const std::string path = testing::TempDir() + "itself.yaml";
  std::ofstream(path) << "like: " << path << "\nname: itself\n";
  EXPECT_EQ(error_of([&] { find_facts(path); }),
            "hardware file " + path + ": like leads through 8 files, or back to itself: name another file");
  std::filesystem::remove(path);
}

TEST(FactsFile, the_programs_own_are_found_by_name) {
  for (const std::string& name : names_of_facts()) {
    const DeviceFacts f = find_facts(name);
    EXPECT_EQ(f.name, name);
    EXPECT_GT(f.memory_bytes, 0) << name;
  }
  EXPECT_EQ(find_facts("h100").name, "h100-sxm");
  EXPECT_NE(error_of([] { find_facts("h1000"); }).find("h100-sxm"), std::string::npos);
  EXPECT_NE(error_of([] { find_facts("missing.yaml"); }).find("can't be opened"), std::string::npos);
}

TEST(FactsFile, the_h200s_differ_from_the_h100s) {
  const DeviceFacts h100 = find_facts("h100"), h200 = find_facts("h200");
  EXPECT_GT(h200.memory_bytes, h100.memory_bytes);
  EXPECT_GT(h200.hbm_gbps, h100.hbm_gbps);
}

// Each file that the program brings along is of a GPU that plans can be made for; one like another has its own peaks.
TEST(FactsFile, those_of_the_program_are_whole) {
  for (const std::string& name : names_of_facts()) {
    const DeviceFacts f = find_facts(name);
    EXPECT_EQ(f.name, name);
    EXPECT_GT(f.peak_tflops.at("bf16"), 0) << name;
    EXPECT_TRUE(f.sms > 0 && f.capability > 0 && f.watts > 0) << name;
    EXPECT_TRUE(f.node.gbps > 0 && f.network.gbps > 0 && f.node.hop_us > 0) << name;
    EXPECT_EQ(f.measured, name == "h100-sxm" || name == "h200-sxm") << name;
  }
  EXPECT_EQ(find_facts("a100-80g").name, "a100-80g-sxm");
  EXPECT_FALSE(find_facts("a100").peak_tflops.contains("fp8"))
      << "an A100 has no fp8, though its file is like an H100's";
}

// Plans in fp8 for Hopper need no guesses of rates.
TEST(FactsFile, those_of_hopper_have_kernels_of_fp8_and_of_experts) {
  for (const char* name : {"h100", "h200"}) {
    const DeviceFacts f = find_facts(name);
    const auto has = [](const std::vector<KernelFact>& kernels, const char* begin) {
      return std::ranges::any_of(kernels, [&](const KernelFact& k) { return k.form.starts_with(begin); });
    };
    for (const char* form : {"f8_tensors e4m3 x e4m3", "f8_tensors e5m2 x e4m3", "f8_blocks e4m3", "grouped_product"})
      EXPECT_TRUE(has(f.products, form)) << name << " " << form;
    for (const char* form : {"quantize", "coded_result", "amax", "gather_rows"})
      EXPECT_TRUE(has(f.kernels, form)) << name << " " << form;
  }
}

}  // namespace megalith
