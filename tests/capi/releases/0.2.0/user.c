/* user DIR: a program of 0.2.0's interface. It calls each function, and prints losses of ten steps. */
#include <megalith/megalith.h>
#include <stdio.h>

static int fill(void* user, mgl_batch* b) { /* sample n begins with n; each token is the one before, times 5, plus 1 */
  (void)user;
  for (int64_t i = 0; i < b->sequences * b->seq_length; ++i) {
    b->tokens[i] = i % b->seq_length ? b->labels[i - 1] : (int32_t)((b->first_sample + i / b->seq_length) % 24);
    b->labels[i] = (5 * b->tokens[i] + 1) % 24;
  }
  b->loss_mask[0] = 0, b->position_ids[0] = 0;
  return 0;
}

static void tell(void* user, int level, const char* line) {
  if (level >= 0 && line) ++*(int*)user;
}

#define MUST(call) \
  if (call) return fprintf(stderr, "%s: %s\n", #call, mgl_last_error()), 1

int main(int argc, char** argv) {
  const char* flags[] = {"--device",
                         "cpu",
                         "--num-layers",
                         "1",
                         "--hidden-size",
                         "16",
                         "--num-attention-heads",
                         "2",
                         "--seq-length",
                         "8",
                         "--micro-batch-size",
                         "2",
                         "--train-iters",
                         "20",
                         "--lr",
                         "0.01"};
  const char* const name = "decoder.final_layernorm.weight";
  int lines = 0;
  int64_t count = 0, iteration = 0;
  double loss = 0;
  float values[16];
  mgl_config* config;
  mgl_session* s;
  mgl_session_options options = {sizeof options, tell, &lines, 0, 1, 0, 0, NULL};
  mgl_step_result r = {sizeof r, 0, 0, 0, 0, 0};
  mgl_tensor_info info = {sizeof info, NULL, 0, 0, {0}, 0};
  if (argc != 2 || !mgl_version()[0] || mgl_api_version() < MGL_API_VERSION) return 1;
  MUST(mgl_config_new(&config));
  MUST(mgl_config_parse(config, (int)(sizeof flags / sizeof *flags), flags));
  MUST(mgl_config_set(config, "vocab-size", "24"));
  if (mgl_config_load_yaml(config, "/nowhere") == MGL_OK && mgl_session_new(config, NULL, &s) == MGL_OK) return 2;
  MUST(mgl_config_free(config));
  MUST(mgl_config_new(&config));
  MUST(mgl_config_parse(config, (int)(sizeof flags / sizeof *flags), flags));
  MUST(mgl_config_set(config, "vocab-size", "24"));
  MUST(mgl_session_new(config, &options, &s));
  MUST(mgl_session_set_batches(s, fill, NULL));
  for (int part = 0; part < 2; ++part) {
    for (int i = 0; i < 5; ++i) {
      MUST(mgl_session_step(s, &r));
      printf("%.17g\n", r.loss);
    }
    if (part == 1) break;
    MUST(mgl_session_save(s, argv[1]));
    MUST(mgl_session_load(s, argv[1]));
  }
  MUST(mgl_session_iteration(s, &iteration));
  MUST(mgl_session_tensor_count(s, &count));
  MUST(mgl_session_tensor_info(s, count - 1, &info));
  MUST(mgl_session_tensor_find(s, name, &info));
  MUST(mgl_session_tensor_read(s, name, MGL_VALUE, values, info.elements));
  MUST(mgl_session_tensor_write(s, name, values, info.elements));
  MUST(mgl_session_tensor_read(s, name, MGL_GRADIENT, values, info.elements));
  MUST(mgl_session_evaluate(s, fill, NULL, 1, &loss));
  if (iteration != 10 || r.iteration != 10 || r.consumed_samples != 20 || r.counted != 1 || !(r.grad_norm > 0))
    return 3;
  if (info.elements != 16 || info.ndim != 1 || info.shape[0] != 16 || !info.is_weight || lines == 0) return 4;
  if (info.size != sizeof info || r.size != sizeof r) return 5; /* no more was written than there is room for */
  MUST(mgl_session_free(s));
  return mgl_config_free(config);
}
