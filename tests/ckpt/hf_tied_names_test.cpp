// A tied embedding has two names, and writers store one of them, or both.
#include "ckpt/hf/hf_weights.h"
#include "tests/ckpt/small_models.h"

namespace megalith {
namespace {

std::string tied(const char* type, const std::string& sizes) {
  return std::string(R"({"model_type":")") + type + R"(","tie_word_embeddings":true,"vocab_size":5,)" + sizes + "}";
}

std::vector<std::string> tied_models() {
  const std::string sizes = R"("hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2)";
  return {tied("llama", sizes + R"(,"intermediate_size":12)"),
          tied("qwen2", sizes + R"(,"num_key_value_heads":2,"intermediate_size":12)"),
          tied("gpt2", R"("n_embd":8,"n_layer":1,"n_head":2,"n_positions":8)"),
          tied("gpt_neox", sizes + R"(,"intermediate_size":12)"),
          tied("bloom", R"("hidden_size":8,"n_layer":1,"n_head":2)"),
          tied("falcon", sizes)};
}

std::vector<float> embedding_of(const std::string& dir) {
  const auto weights = read_hf_weights(TensorFiles::open_directory(dir), read_hf_config(dir));
  const std::size_t i = weights->at("embedding.word_embeddings.weight");
  std::vector<float> values(std::size_t(count(weights->tensors()[i].shape)));
  weights->read_range_as(i, 0, i64(values.size()), DType::f32, std::as_writable_bytes(std::span(values)).data());
  return values;
}

TEST(HfTiedNames, any_name_of_the_embedding_will_do) {
  TempDir dir;
  for (const std::string& config : tied_models()) {
    const HfConfig c = parse_hf_config(config, "small model");
    const HfMapping mapping = hf_mapping(*c.family, c.model);
    const std::vector<Stored> tensors = small_tensors(config.c_str());
    write_model(dir / "usual", config, tensors);
    const std::vector<float> want = embedding_of(dir / "usual");
    for (const std::string& name : {mapping.embedding.substr(mapping.prefix.size()), std::string("lm_head.weight"),
                                    std::string("embed_out.weight"), mapping.prefix + "lm_head.weight"}) {
      for (const bool both : {false, true}) {
        std::vector<Stored> renamed = tensors;
        for (Stored& t : renamed)
          if (t.spec.name == mapping.embedding) t.spec.name = name;
        if (both && name.find("head") == std::string::npos && name.find("out") == std::string::npos) continue;
        if (both)
          for (const Stored& t : tensors)
            if (t.spec.name == mapping.embedding) renamed.push_back(t);
        fs::remove_all(dir / "m");
        write_model(dir / "m", config, renamed);
        EXPECT_EQ(embedding_of(dir / "m"), want) << config << name << both;
      }
    }
  }
}

TEST(HfTiedNames, two_that_differ_are_refused) {
  TempDir dir;
  for (const std::string& config : tied_models()) {
    std::vector<Stored> tensors = small_tensors(config.c_str());
    tensors.push_back(tensors.front());
    tensors.back().spec.name = "lm_head.weight";
    tensors.back().bytes[3] ^= std::byte(1);
    fs::remove_all(dir / "m");
    write_model(dir / "m", config, tensors);
    expect_error([&] { (void)embedding_of(dir / "m"); }, "tie_word_embeddings is true, but lm_head.weight differs");
  }
}

TEST(HfTiedNames, neither_is_a_missing_tensor) {
  TempDir dir;
  const std::string config = tied_models().front();
  std::vector<Stored> tensors = small_tensors(config.c_str());
  std::erase_if(tensors, [](const Stored& t) { return t.spec.name == "model.embed_tokens.weight"; });
  write_model(dir / "m", config, tensors);
  expect_error([&] { (void)embedding_of(dir / "m"); }, "model.embed_tokens.weight");
}

}  // namespace
}  // namespace megalith
