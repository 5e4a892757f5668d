#include "ckpt/torch/torch_dist.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "ckpt/any_checkpoint.h"
#include "ckpt/inspect.h"
#include "tests/ckpt/torch/megatron_files.h"
#include "tests/ckpt/torch/python.h"
#include "tests/ckpt/torch/sha256.h"

namespace megalith {
namespace {

std::vector<std::byte> read_tensor(const TensorReader& reader, std::size_t i) {
  const TensorSpec& t = reader.tensors()[i];
  std::vector<std::byte> bytes(std::size_t(count(t.shape) * size_of(t.dtype)));
  reader.read_range(i, 0, count(t.shape), bytes.data());
  return bytes;
}

void copy_example(const std::string& example, const std::string& to) {
  fs::remove_all(to), fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(example + "/iter_0000010"))
    spit(to + "/" + entry.path().filename().string(), slurp(entry.path().string()));
}

TEST(TorchDist, example_has_the_digests_it_claims) {
  for (const std::string& example : golden_torch_dist()) {
    SCOPED_TRACE(example);
    const auto expected = nlohmann::json::parse(slurp(example + "/expected.json"))["tensors"];
    const TorchDist dist(example + "/iter_0000010");
    EXPECT_EQ(dist.tensors().tensors().size(), expected.size());
    for (std::size_t i = 0; i < dist.tensors().tensors().size(); ++i) {
      const TensorSpec& t = dist.tensors().tensors()[i];
      ASSERT_TRUE(expected.contains(t.name)) << t.name;
      EXPECT_EQ(nlohmann::json(t.shape), expected[t.name]["shape"]) << t.name;
      EXPECT_EQ(sha256(read_tensor(dist.tensors(), i)), expected[t.name]["sha256"]) << t.name;
    }
    ASSERT_NE(dist.common(), nullptr);
    EXPECT_EQ(pickle_integer(dist.common()->find("iteration"), ""), 10);
  }
}

// Any box equals the same range of the whole tensor.
TEST(TorchDist, boxes_agree_with_the_whole) {
  for (const std::string& example : golden_torch_dist()) {
    SCOPED_TRACE(example);
    const TorchDist dist(example + "/iter_0000010");
    const TensorReader& reader = dist.tensors();
    std::mt19937 random(3);
    for (std::size_t i = 0; i < reader.tensors().size(); ++i) {
      const TensorSpec& t = reader.tensors()[i];
      const auto whole = read_tensor(reader, i);
      for (int n = 0; n < 20; ++n) {
        Shape offset, box;
        for (const i64 d : t.shape) {
          offset.push_back(i64(random() % u64(d)));
          box.push_back(i64(random() % u64(d - offset.back() + 1)));
        }
        std::vector<std::byte> part(std::size_t(count(box) * size_of(t.dtype)));
        reader.read_box_as(i, offset, box, t.dtype, part);
        Shape at(box.size(), 0);
        for (i64 k = 0; k < count(box); ++k) {
          i64 rest = k, flat = 0, step = 1;
          for (std::size_t d = box.size(); d-- > 0;) {
            flat += (offset[d] + rest % box[d]) * step;
            rest /= box[d], step *= t.shape[d];
          }
          const auto size = std::size_t(size_of(t.dtype));
          ASSERT_EQ(std::memcmp(&part[std::size_t(k) * size], &whole[std::size_t(flat) * size], size), 0) << t.name;
        }
      }
    }
  }
}

// Every truncated file is refused; a flipped bit is refused or does not affect what is read.
TEST(TorchDist, refuses_damaged_files) {
  for (const std::string& example : golden_torch_dist()) {
    SCOPED_TRACE(example);
    TempDir dir;
    copy_example(example, dir / "a");
    const auto load = [&] {
      const TorchDist dist(dir / "a");
      dist.sums()->verify();
      std::string all;
      for (std::size_t i = 0; i < dist.tensors().tensors().size(); ++i) all += sha256(read_tensor(dist.tensors(), i));
      return all;
    };
    const std::string good = load();
    std::mt19937 random(11);
    for (const std::string name : {".metadata", "__0_0.distcp", "__1_0.distcp"}) {
      const std::string path = dir / "a/" + name, text = slurp(path);
      for (int n = 0; n < 40; ++n) {
        spit(path, text.substr(0, random() % text.size()));
        EXPECT_EQ(error_of(load).find('\n'), std::string::npos);
      }
      int silent = 0, found = 0;
      for (int n = 0; n < 150; ++n) {
        std::string flipped = text;
        flipped[random() % text.size()] ^= char(1 << random() % 8);
        spit(path, flipped);
        try {
          if (load() != good) ++silent;
        } catch (const Error& e) {
          EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
          ++found;
        }
      }
      EXPECT_GT(found, 0);
      // The table of contents has no checksum: a flip in a tensor's name is not detected here, but when a model is
      // loaded.
      if (name != ".metadata") {
        EXPECT_EQ(silent, 0) << name;
      }
      spit(path, text);
    }
    fs::remove(dir / "a/.metadata");
    expect_error(load, "its save was not finished");
  }
}

// With any number of ranks exactly one detects a damaged number, and all read about the same amount.
TEST(TorchDist, ranks_share_out_the_checksums) {
  TempDir dir;
  std::vector<NamedShape> tensors;
  for (i64 i = 0; i < 20; ++i) tensors.push_back({fmt::format("t{}", i), {10'000 + i * 7919 % 20'000}});
  save_torch_dist(dir.path(), 1, {megatron_common({}, {})}, FilledTensors(tensors, DType::bf16));
  const TorchDist dist(dir / "iter_0000001");
  const TensorStore& store = dist.tensors();
  const auto flip = [&](const StoredBox& box) {
    std::fstream file(store.file(box.file).path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(box.position);
    const int byte = file.get();
    file.seekp(box.position);
    file.put(char(byte ^ 4));
  };
  for (const int of : {1, 2, 3, 7}) {
    std::vector<i64> bytes(std::size_t(of), 0);
    i64 total = 0, largest = 0;
    for (std::size_t i = 0; i < store.tensors().size(); ++i)
      for (const StoredBox& box : store.boxes(i)) {
        flip(box);
        int found = 0, by = 0;
        for (int rank = 0; rank < of; ++rank) try {
            dist.sums()->verify({rank, of});
          } catch (const Error& e) {
            EXPECT_NE(std::string(e.what()).find("tensor " + store.tensors()[i].name + " is damaged"),
                      std::string::npos)
                << e.what();
            ++found, by = rank;
          }
        flip(box);
        EXPECT_EQ(found, 1) << store.tensors()[i].name << " of " << of;
        const i64 size = count(box.shape) * size_of(store.tensors()[i].dtype);
        bytes[std::size_t(by)] += size, total += size, largest = std::max(largest, size);
      }
    // A share ends with a complete record; pickles and others are divided too.
    constexpr i64 kBeside = 400;
    const i64 most = largest + kBeside * i64(tensors.size());
    for (const i64 b : bytes) EXPECT_NEAR(double(b), double(total) / of, double(most)) << of;
  }
  dist.sums()->verify();
}

// A sparse file is quick to make, and is larger than the memory.
TEST(TorchDist, refuses_a_table_that_is_too_large) {
  TempDir dir;
  spit(dir / ".metadata", "");
  fs::resize_file(dir / ".metadata", u64(TorchZip::kMaxWhole) + 1);
  expect_error([&] { TorchDist{dir.path()}; }, ".metadata has 1073741825 bytes, more than 1073741824");
}

TEST(TorchDist, tells_what_of_a_file_is_not_there) {
  TempDir dir;
  const std::string at = "torch.distributed.checkpoint.";
  PickleWriter p;
  p.object(at + "metadata", "Metadata", [&] {
    p.dict([&] {
      p.text("state_dict_metadata"), p.dict([] {});
      p.text("storage_data"), p.dict([&] {
        p.object(at + "metadata", "MetadataIndex",
                 [&] { p.dict([&] { p.entry("fqn", std::string_view("common_state/shard_0_1")); }); });
        p.object(at + "filesystem", "_StorageInfo", [&] {
          p.dict([&] {
            p.entry("relative_path", std::string_view("__0_0.distcp")), p.entry("offset", i64{5});
            p.entry("length", std::numeric_limits<i64>::max());
          });
        });
      });
    });
  });
  spit(dir / ".metadata", p.finish());
  spit(dir / "__0_0.distcp", "1234567");
  expect_error([&] { TorchDist{dir.path()}; },
               "is truncated: 9223372036854775807 bytes from 5 on should be there, it has 7");
}

TEST(TorchDist, reads_what_pytorch_writes) {
  if (!python_has("torch, numpy")) GTEST_SKIP() << python() << " has no torch and numpy";
  TempDir dir;
  ASSERT_EQ(run_python("write_dcp.py", {dir / "x"}, dir / "log"), "");
  const auto expected = nlohmann::json::parse(slurp(dir / "x/expected.json"));
  const TorchDist dist(dir / "x");
  for (const auto& [name, e] : expected.items()) {
    const auto i = dist.tensors().find(name);
    ASSERT_TRUE(i.has_value()) << name;
    EXPECT_EQ(nlohmann::json(dist.tensors().tensors()[*i].shape), e["shape"]) << name;
    EXPECT_EQ(sha256(read_tensor(dist.tensors(), *i)), e["sha256"]) << name;
  }
  EXPECT_EQ(dist.tensors().tensors().size(), expected.size());
  ASSERT_GE(dist.unread().size(), 4u);  // the other types do not exist in older versions of PyTorch
  EXPECT_EQ(dist.unread()[0], "complex (complex64)");
  EXPECT_EQ(dist.unread()[1], "unread.complex32 (complex32)");
  EXPECT_EQ(dist.unread()[2], "unread.float8_e4m3fnuz (float8_e4m3fnuz)");
  EXPECT_EQ(open_raw_checkpoint(dir / "x").unread, dist.unread());
  expect_error([&] { open_any_checkpoint(dir / "x"); }, "tensor complex (complex64) is of a type that is not read");
}

TEST(TorchFile, reads_what_pytorch_writes) {
  if (!python_has("torch, numpy")) GTEST_SKIP() << python() << " has no torch and numpy";
  TempDir dir;
  ASSERT_EQ(run_python("write_pt.py", {dir / "x.pt", dir / "x.json"}, dir / "log"), "");
  const auto expected = nlohmann::json::parse(slurp(dir / "x.json"));
  const ReadFile archive(dir / "x.pt");
  const TorchFile file(FileRange(archive), "x.pt");
  for (const ZipRecord& record : file.zip().records()) file.zip().verify(record);
  TensorStore store("x.pt");
  store.add_file(dir / "x.pt");
  for (const auto& [name, e] : expected.items()) {
    const PickleValue* value = file.root().find("tensors")->find(name);
    ASSERT_NE(value, nullptr) << name;
    const auto t = file.tensor(*value);
    ASSERT_TRUE(t.has_value()) << name;
    EXPECT_EQ(t->type, e["type"]) << name;
    if (!dtype_of_torch(t->type)) continue;
    store.add_tensor({name, t->dtype(), t->shape}, {{Shape(t->shape.size(), 0), t->shape, t->strides, 0, t->position}});
    EXPECT_EQ(sha256(read_tensor(store, store.at(name))), e["sha256"]) << name;
  }
  EXPECT_EQ(file.root().find("args")->text, "argparse.Namespace");
  EXPECT_EQ(pickle_integer(file.root().find("args")->find("num_layers"), ""), 3);
}

// Flags that PyTorch applies at a read, besides the storage.
TEST(TorchFile, refuses_tensors_that_are_not_what_is_stored) {
  if (!python_has("torch")) GTEST_SKIP() << python() << " has no torch";
  TempDir dir;
  ASSERT_EQ(run_python("write_bits.py", {dir / "neg.pt", dir / "conj.pt"}, dir / "log"), "");
  for (const std::string bit : {"neg", "conj"}) {
    const ReadFile archive(dir / bit + ".pt");
    const TorchFile file(FileRange(archive), bit + ".pt");
    expect_error([&] { (void)file.tensor(*file.root().find("x")); }, bit + ".pt: a tensor has the bit " + bit);
  }
}

}  // namespace
}  // namespace megalith
