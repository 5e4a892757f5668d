// DeepSeek's 8-bit codes with a scale per block: bit for bit the same model as the products of codes and scales.
#include "ckpt/hf/fp8_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ckpt/convert.h"
#include "tests/ckpt/small_models.h"

namespace megalith {
namespace {

// Sizes that are not multiples of a block, and some that are smaller than one.
constexpr const char* kDeepseekConfig =
    R"({"model_type":"deepseek_v3","hidden_size":144,"intermediate_size":136,"num_hidden_layers":2,
        "num_attention_heads":2,"q_lora_rank":6,"kv_lora_rank":4,"qk_nope_head_dim":3,"qk_rope_head_dim":2,
        "v_head_dim":5,"rms_norm_eps":1e-6,"first_k_dense_replace":1,"moe_intermediate_size":130,"n_routed_experts":4,
        "n_shared_experts":1,"num_experts_per_tok":2,"n_group":2,"topk_group":1,"num_nextn_predict_layers":0,
        "vocab_size":5})";
constexpr const char* kFp8 = R"({"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic",
                                 "weight_block_size":[128,128]})";

// Of the 8-bit format's definition (Micikevicius et al. 2022, table 1): exponents have a bias of 7.
float value_of(u8 code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const double size = exponent == 0 ? mantissa / 512.0 : (1 + mantissa / 8.0) * std::pow(2.0, exponent - 7);
  return float(code & 128 ? -size : size);
}

std::string with_quantization(const char* quantization) {
  auto config = nlohmann::json::parse(small_config(kDeepseekConfig));
  config["quantization_config"] = nlohmann::json::parse(quantization);
  return config.dump();
}

template <class T>
Stored stored(const std::string& name, DType type, const Shape& shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {{name, type, shape}, {bytes.begin(), bytes.end()}};
}

struct Models {
  std::vector<Stored> codes, products;
};

// The matrices of linear layers as codes and scales, and multiplied; the other tensors are the same in both.
Models make_models() {
  Models out;
  u32 random = 1;
  const auto next = [&] { return random = random * 1664525 + 1013904223, random >> 8; };
  for (const Stored& t : small_tensors(kDeepseekConfig)) {
    const bool linear = t.spec.shape.size() == 2 && t.spec.name.find("proj") != std::string::npos;
    if (!linear) {
      out.codes.push_back(t), out.products.push_back(t);
      continue;
    }
    const i64 rows = t.spec.shape[0], columns = t.spec.shape[1], down = (rows + 127) / 128,
              across = (columns + 127) / 128;
    std::vector<u8> codes(std::size_t(rows * columns));
    std::vector<float> scales(std::size_t(down * across)), products(codes.size());
    for (float& s : scales) s = 1e-4f + float(next() % 1000) * 1e-5f;
    for (u8& c : codes) do
        c = u8(next());
      while ((c & 127) == 127);
    for (i64 r = 0; r < rows; ++r)
      for (i64 c = 0; c < columns; ++c)
        products[std::size_t(r * columns + c)] =
            value_of(codes[std::size_t(r * columns + c)]) * scales[std::size_t(r / 128 * across + c / 128)];
    out.codes.push_back(stored(t.spec.name, DType::f8_e4m3, t.spec.shape, codes));
    out.codes.push_back(stored(t.spec.name + "_scale_inv", DType::f32, {down, across}, scales));
    out.products.push_back(stored(t.spec.name, DType::f32, t.spec.shape, products));
  }
  return out;
}

}  // namespace

TEST(Fp8Weights, are_the_products_to_the_bit) {
  TempDir dir;
  const Models models = make_models();
  write_model(dir / "codes", with_quantization(kFp8), models.codes);
  write_model(dir / "products", small_config(kDeepseekConfig), models.products);
  for (const auto type : {DType::f32, DType::bf16})
    for (const std::string name : {"codes", "products"})
      convert_checkpoint(open_any_checkpoint(dir / name), CkptFormat::hf, dir / (name + std::string(name_of(type))),
                         {.type = type});
  for (const std::string type : {"f32", "bf16"})
    for (const char* file : {"/model.safetensors", "/config.json"})
      EXPECT_EQ(slurp(dir / ("codes" + type) + file), slurp(dir / ("products" + type) + file)) << type << file;
}

// Any box of a tensor, also with partial blocks.
TEST(Fp8Weights, are_read_in_parts) {
  TempDir dir;
  const Models models = make_models();
  write_model(dir / "codes", with_quantization(kFp8), models.codes);
  write_model(dir / "products", small_config(kDeepseekConfig), models.products);
  const AnyCheckpoint codes = open_any_checkpoint(dir / "codes"), products = open_any_checkpoint(dir / "products");
  const std::size_t at = codes.tensors->at("decoder.layers.0.mlp.linear_fc2.weight");  // [144, 136]
  for (const auto& [offset, shape] : std::vector<std::pair<Shape, Shape>>{{{0, 0}, {144, 136}},
                                                                          {{127, 126}, {2, 4}},
                                                                          {{130, 5}, {14, 1}},
                                                                          {{10, 129}, {3, 5}},
                                                                          {{129, 130}, {2, 2}},
                                                                          {{3, 130}, {0, 2}}}) {
    std::vector<float> a(std::size_t(count(shape))), b(a.size());
    codes.tensors->read_box_as(at, offset, shape, DType::f32, std::as_writable_bytes(std::span(a)));
    products.tensors->read_box_as(at, offset, shape, DType::f32, std::as_writable_bytes(std::span(b)));
    EXPECT_EQ(a, b) << to_string(offset);
  }
}

TEST(Fp8Weights, must_be_whole) {
  const Models models = make_models();
  const auto refused = [&](const std::function<void(std::vector<Stored>&)>& edit, const std::string& message) {
    TempDir dir;
    std::vector<Stored> tensors = models.codes;
    edit(tensors);
    write_model(dir.path(), with_quantization(kFp8), tensors);
    expect_error([&] { open_any_checkpoint(dir.path()); }, message);
  };
  const std::string name = "model.layers.0.mlp.down_proj.weight";
  const auto of = [&](std::vector<Stored>& t, const std::string& end) {
    return std::ranges::find_if(t, [&](const Stored& s) { return s.spec.name == name + end; });
  };
  refused([&](auto& t) { t.erase(of(t, "_scale_inv")); }, name + " of type f8_e4m3 has no " + name + "_scale_inv");
  refused(
      [&](auto& t) {
        *of(t, "_scale_inv") = stored<float>(name + "_scale_inv", DType::f32, {1, 2}, {1, 2});
      },
      name + "_scale_inv is f32 of shape [1, 2]: blocks of 128 x 128 in [144, 136] need [2, 2]");
  refused(
      [&](auto& t) {
        t.push_back(stored<float>("model.a_scale_inv", DType::f32, {1, 1}, {1}));
      },
      "model.a_scale_inv has no tensor model.a that it scales");
  refused([&](auto& t) { t.erase(of(t, "")); }, "1 tensors missing");
}

TEST(Fp8Weights, are_the_one_quantization_that_is_read) {
  const auto refused = [](const char* quantization, const std::string& message) {
    const std::string config = with_quantization(quantization);
    expect_error([&] { parse_hf_config(config, "config.json"); }, message);
  };
  refused(R"({"quant_method":"gptq","bits":4})",
          "config.json: quantization_config: quant_method is \"gptq\": of quantized weights only \"fp8\" in blocks is "
          "read; "
          "dequantize the model first, or take its original weights");
  refused(R"({"quant_method":"fp8","fmt":"e5m2","weight_block_size":[128,128]})",
          "fmt is \"e5m2\": only \"e4m3\" is read");
  refused(R"({"quant_method":"fp8"})", "weight_block_size is missing: want [rows, columns] of a block");
  refused(R"({"quant_method":"fp8","weight_block_size":[128,0]})", "weight_block_size is [128,0]: want");
  refused("[]", "quantization_config is []: want an object");
}

}  // namespace megalith
