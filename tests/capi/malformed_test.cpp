// Calls that make no sense give a status and a line.
#include <gtest/gtest.h>
#include <megalith/megalith.h>

#include <cstring>
#include <string>

namespace {

int none(void*, mgl_batch*) { return 7; }

#define EXPECT_BAD(call)                           \
  do {                                             \
    EXPECT_EQ(call, MGL_BAD_ARGUMENT);             \
    EXPECT_GT(std::strlen(mgl_last_error()), 10u); \
  } while (false)

TEST(Malformed, calls_without_handles_or_places_are_refused) {
  mgl_config* config = nullptr;
  mgl_session* session = nullptr;
  double loss = 0;
  int64_t number = 0;
  float values[4] = {};
  const char* words[] = {"--num-layers", nullptr};
  EXPECT_BAD(mgl_config_new(nullptr));
  EXPECT_BAD(mgl_config_set(nullptr, "num-layers", "1"));
  ASSERT_EQ(mgl_config_new(&config), MGL_OK);
  EXPECT_BAD(mgl_config_set(config, nullptr, "1"));
  EXPECT_BAD(mgl_config_set(config, "--num-layers", "1"));
  EXPECT_BAD(mgl_config_parse(config, 2, words));
  EXPECT_BAD(mgl_config_parse(config, -1, words));
  EXPECT_BAD(mgl_config_parse(config, 1, nullptr));
  EXPECT_BAD(mgl_config_load_yaml(config, nullptr));
  EXPECT_BAD(mgl_session_new(nullptr, nullptr, &session));
  EXPECT_BAD(mgl_session_new(config, nullptr, nullptr));
  mgl_session_options options{};
  EXPECT_BAD(mgl_session_new(config, &options, &session));
  EXPECT_EQ(mgl_session_new(config, nullptr, &session), MGL_ERROR);  // no flags
  EXPECT_BAD(mgl_session_step(nullptr, nullptr));
  EXPECT_BAD(mgl_session_set_batches(nullptr, none, nullptr));
  EXPECT_BAD(mgl_session_iteration(nullptr, &number));
  EXPECT_BAD(mgl_session_evaluate(nullptr, none, nullptr, 1, &loss));
  EXPECT_BAD(mgl_session_save(nullptr, "x"));
  EXPECT_BAD(mgl_session_load(nullptr, "x"));
  EXPECT_BAD(mgl_session_tensor_count(nullptr, &number));
  EXPECT_BAD(mgl_session_tensor_read(nullptr, "x", MGL_VALUE, values, 4));
  EXPECT_BAD(mgl_session_tensor_write(reinterpret_cast<mgl_session*>(values), "x", values, 4));
  EXPECT_EQ(mgl_config_free(config), MGL_OK);
  EXPECT_BAD(mgl_config_free(config));
  EXPECT_BAD(mgl_config_set(config, "num-layers", "1"));
  EXPECT_EQ(mgl_config_free(nullptr), MGL_OK);
  EXPECT_EQ(mgl_session_free(nullptr), MGL_OK);
}

TEST(Malformed, a_session_that_is_asked_for_nonsense_goes_on) {
  const char* words[] = {
      "--device",     "cpu", "--num-layers",       "1", "--hidden-size", "16", "--num-attention-heads", "2",
      "--seq-length", "8",   "--micro-batch-size", "1", "--train-iters", "4",  "--vocab-size",          "24",
      "--lr",         "0.01"};
  mgl_config* config = nullptr;
  mgl_session* s = nullptr;
  ASSERT_EQ(mgl_config_new(&config), MGL_OK);
  ASSERT_EQ(mgl_config_parse(config, int(std::size(words)), words), MGL_OK);
  ASSERT_EQ(mgl_session_new(config, nullptr, &s), MGL_OK) << mgl_last_error();
  const auto fails_with = [](mgl_status status, const char* part) {
    EXPECT_EQ(status, MGL_ERROR) << part;
    EXPECT_NE(std::string(mgl_last_error()).find(part), std::string::npos) << mgl_last_error();
  };
  float values[16] = {};
  double loss = 0;
  mgl_tensor_info info{};
  mgl_step_result result{};
  fails_with(mgl_session_step(s, nullptr), "no batches");
  EXPECT_BAD(mgl_session_set_batches(s, nullptr, nullptr));
  ASSERT_EQ(mgl_session_set_batches(s, none, nullptr), MGL_OK);
  fails_with(mgl_session_step(s, nullptr), "returned 7");
  EXPECT_BAD(mgl_session_step(s, &result));
  EXPECT_BAD(mgl_session_tensor_info(s, 0, &info));
  info.size = sizeof info;
  EXPECT_BAD(mgl_session_tensor_info(s, -1, &info));
  EXPECT_BAD(mgl_session_tensor_info(s, 1 << 20, &info));
  EXPECT_EQ(mgl_session_tensor_info(s, 0, &info), MGL_OK);
  fails_with(mgl_session_tensor_find(s, "nothing", &info), "'nothing'");
  fails_with(mgl_session_tensor_read(s, "decoder.final_layernorm.weight", MGL_VALUE, values, 15), "16 elements");
  fails_with(mgl_session_tensor_read(s, "decoder.final_layernorm.weight", MGL_GRADIENT, values, 16), "no gradient");
  EXPECT_BAD(mgl_session_tensor_read(s, "decoder.final_layernorm.weight", 9, values, 16));
  mgl_tensor_view view{};
  EXPECT_BAD(mgl_session_tensor_view(s, "decoder.final_layernorm.weight", MGL_VALUE, &view));  // no size
  EXPECT_BAD(mgl_session_tensor_view(s, "decoder.final_layernorm.weight", MGL_VALUE, nullptr));
  view.size = sizeof view;
  EXPECT_BAD(mgl_session_tensor_view(s, "decoder.final_layernorm.weight", MGL_GRADIENT, &view));
  EXPECT_BAD(mgl_session_tensor_view(nullptr, "decoder.final_layernorm.weight", MGL_VALUE, &view));
  fails_with(mgl_session_tensor_view(s, "decoder.final_layernorm.weight", MGL_GRADIENT_SUM, &view), "no gradient");
  EXPECT_BAD(mgl_session_tensor_read(s, nullptr, MGL_VALUE, values, 16));
  fails_with(mgl_session_evaluate(s, none, nullptr, 0, &loss), "0 micro-batches");
  fails_with(mgl_session_save(s, "/dev/null/x"), "/dev/null/x");
  EXPECT_EQ(mgl_session_free(s), MGL_OK);
  EXPECT_BAD(mgl_session_free(s));
  EXPECT_BAD(mgl_session_step(s, nullptr));
  EXPECT_EQ(mgl_config_free(config), MGL_OK);
}

}  // namespace
