#include "ckpt/tensors/safetensors.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

std::span<const std::byte> bytes(const std::string& s) { return std::as_bytes(std::span(s)); }

std::string with_header(const std::string& header, const std::string& data = "") {
  const u64 n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + data;
}

std::string hex(std::span<const std::byte> data) {
  std::string text;
  for (const std::byte b : data) text += fmt::format("{:02x}", int(b));
  return text;
}

// Copies a file tensor by tensor with the writer.
void copy_file(const TensorFiles& in, const std::string& out) {
  std::vector<TensorSpec> specs;
  for (const TensorInfo& t : in.tensors()) specs.push_back({t.name, t.dtype(), t.shape});
  SafetensorsWriter writer(out, specs);
  for (const TensorSpec& t : writer.tensors()) writer.write(in.read(in.at(t.name)));
  writer.finish();
}

void write_small(const std::string& path) {
  SafetensorsWriter writer(path, {{"a", DType::f32, {2, 2}}, {"b", DType::bf16, {3}}, {"none", DType::f32, {0, 5}}});
  writer.write(bytes(std::string(22, 'x')));
  writer.finish();
}

TEST(Safetensors, reads_the_reference_file_and_writes_it_again) {
  for (const std::string& path : golden_vectors("tiny.safetensors")) {
    SCOPED_TRACE(path);
    const auto expected = nlohmann::json::parse(slurp(path + ".json"));
    const TensorFiles file = TensorFiles::open_file(path);
    EXPECT_EQ(file.tensors().size(), expected.size());
    EXPECT_EQ(file.metadata().at("format"), "pt");
    for (const auto& [name, e] : expected.items()) {
      const TensorInfo& t = file.at(name);
      EXPECT_EQ(t.stored_type, e["dtype"]);
      EXPECT_EQ(t.shape, e["shape"].get<Shape>());
      EXPECT_EQ(hex(file.read(t)), e["hex"]);
    }
    EXPECT_EQ(file.read_f32("a.weight"), (std::vector<float>{1, -2, 0.5, 3}));
    expect_error([&] { (void)file.read_f32("ids"); }, "floating-point");
    TempDir dir;
    copy_file(file, dir / "copy.safetensors");
    EXPECT_EQ(slurp(dir / "copy.safetensors"), slurp(path));
  }
}

TEST(Safetensors, rewrites_models_byte_by_byte) {
  TempDir dir;
  for (const std::string& model : all_fixtures()) {
    const std::string path = model + "/model.safetensors";
    copy_file(TensorFiles::open_file(path), dir / "copy.safetensors");
    EXPECT_EQ(slurp(dir / "copy.safetensors"), slurp(path)) << model;
  }
}

TEST(Safetensors, refuses_every_truncation_and_extension) {
  TempDir dir;
  write_small(dir / "whole");
  const std::string whole = slurp(dir / "whole");
  EXPECT_NO_THROW(TensorFiles::open_file(dir / "whole"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    spit(dir / "cut", whole.substr(0, n));
    expect_error([&] { (void)TensorFiles::open_file(dir / "cut"); }, dir / "cut");
  }
  spit(dir / "cut", whole + "x");
  expect_error([&] { (void)TensorFiles::open_file(dir / "cut"); }, "23 bytes");
}

TEST(Safetensors, survives_every_bit_flip) {
  TempDir dir;
  write_small(dir / "whole");
  const std::string whole = slurp(dir / "whole");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << (bit % 8)));
    spit(dir / "flipped", flipped);
    try {
      const TensorFiles file = TensorFiles::open_file(dir / "flipped");
      for (const TensorInfo& t : file.tensors()) (void)file.read(t);
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(Safetensors, refuses_what_the_format_forbids) {
  TempDir dir;
  const auto refused = [&](const std::string& header, const std::string& data, const std::string& part) {
    spit(dir / "bad", with_header(header, data));
    expect_error([&] { (void)TensorFiles::open_file(dir / "bad"); }, part);
  };
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  refused("{" + a + "," + a + "}", "xx", "twice");
  const auto ones = [](std::size_t n) {
    std::string list = "1";
    for (std::size_t i = 1; i < n; ++i) list += ",1";
    return R"({"a":{"dtype":"U8","shape":[)" + list + R"(],"data_offsets":[0,1]}})";
  };
  refused(ones(65), "x", "tensor \"a\": a shape has 65 dimensions, at most 64 are read");
  refused(ones(400'000), "x", "tensor \"a\": a shape has 400000 dimensions");
  spit(dir / "good", with_header(ones(64), "x"));
  EXPECT_EQ(TensorFiles::open_file(dir / "good").at("a").shape.size(), 64u);
  refused("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "xxx", "begins at byte 1");
  refused("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})", "xxxxx", "begins at byte 3");
  refused("{" + a + "}", "xxx", "3 bytes");
  refused("{" + a + "}", "x", "truncated");
  refused(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})", "xx", "do not hold shape [3]");
  refused(R"({"a":{"dtype":"U9","shape":[2],"data_offsets":[0,2]}})", "xx", "unknown dtype");
  refused(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", "xx", "whole bytes");
  refused(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,2]}})", "xx", "-1");
  refused(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,2]}})", "xx", "too large");
  refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "xx", "do not hold");
  refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,18446744073709551615]}})", "xx", "integer");
  refused(R"({"a":{"dtype":"U8","shape":[2.0],"data_offsets":[0,2]}})", "xx", "2.0");
  refused(R"({"a":{"dtype":"U8","shape":[2]}})", "xx", "exactly");
  refused(R"({"__metadata__":{"format":1}})", "", "__metadata__");
  refused(std::string(1000, '['), "", "'{'");
  refused("{\"a\":" + std::string(100000, '['), "", "nested");
  refused("[]", "", "'{'");
  refused("", "", "'{'");
  spit(dir / "bad", std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8) + "{}");
  expect_error([&] { (void)TensorFiles::open_file(dir / "bad"); }, "not a safetensors file");
  expect_error([&] { (void)TensorFiles::open_file(dir / "absent"); }, "No such file");
  expect_error([&] { (void)TensorFiles::open_file(dir.path()); }, "not a regular file");
}

TEST(Safetensors, reads_foreign_types_only_as_bytes) {
  TempDir dir;
  spit(dir / "f", with_header(R"({"m":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]}})", "xy"));
  const TensorFiles file = TensorFiles::open_file(dir / "f");
  EXPECT_EQ(file.read(file.at("m")).size(), 2u);
  expect_error([&] { (void)file.at("m").dtype(); }, "F8_E8M0");
}

TEST(Safetensors, writer_refuses_wrong_amounts) {
  TempDir dir;
  SafetensorsWriter writer(dir / "f", {{"a", DType::f32, {2}}});
  writer.write(bytes("1234"));
  expect_error([&] { (void)writer.finish(); }, "its header says");
}

TEST(Safetensors, reads_shards_and_checks_their_index) {
  TempDir dir;
  const auto shard = [&](const std::string& file, const std::string& tensor) {
    SafetensorsWriter w(dir / file, {{tensor, DType::u8, {1}}});
    w.write(bytes("x"));
    w.finish();
  };
  const auto index = [&](const std::string& map) {
    spit(dir / "model.safetensors.index.json", R"({"metadata":{},"weight_map":{)" + map + "}}");
  };
  expect_error([&] { (void)TensorFiles::open_directory(dir.path()); }, "neither model.safetensors");
  shard("1.safetensors", "a"), shard("2.safetensors", "b");
  index(R"("a":"1.safetensors","b":"2.safetensors")");
  EXPECT_EQ(TensorFiles::open_directory(dir.path()).tensors().size(), 2u);
  index(R"("a":"2.safetensors","b":"2.safetensors")");
  expect_error([&] { (void)TensorFiles::open_directory(dir.path()); }, "does not hold tensor \"a\"");
  index(R"("a":"3.safetensors")");
  expect_error([&] { (void)TensorFiles::open_directory(dir.path()); }, "is missing");
  index(R"("a":"../1.safetensors")");
  expect_error([&] { (void)TensorFiles::open_directory(dir.path()); }, "same directory");
  shard("2.safetensors", "a");
  index(R"("a":"1.safetensors","b":"2.safetensors")");
  expect_error([&] { (void)TensorFiles::open_directory(dir.path()); }, "earlier file");
  index("\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']'));
  expect_error([&] { (void)TensorFiles::open_directory(dir.path()); }, "not a safetensors index");
  spit(dir / "model.safetensors.index.json", "nonsense");
  expect_error([&] { (void)TensorFiles::open_directory(dir.path()); }, "not a safetensors index");
}

}  // namespace
}  // namespace megalith
