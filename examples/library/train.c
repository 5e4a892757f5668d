/* train_c BATCHES DIR FLAGS...: trains three steps, saves, and trains three more in a new session. */
#include <megalith/megalith.h>
#include <stdio.h>
static int fill(void* file, mgl_batch* b) { /* each sample of the file has its tokens, then its labels */
  fseek(file, (long)(b->first_sample * b->seq_length * 8), SEEK_SET);
  for (size_t at = 0, n = (size_t)b->seq_length; at < (size_t)b->sequences * n; at += n)
    if (fread(b->tokens + at, 4, n, file) != n || fread(b->labels + at, 4, n, file) != n) return 1;
  return 0;
}
static mgl_status train(const mgl_config* config, FILE* file, const char* dir, int until) {
  mgl_session* s;
  mgl_step_result r = {sizeof r, 0, 0, 0, 0, 0};
  float g[16];
  if (mgl_session_new(config, NULL, &s) || mgl_session_set_batches(s, fill, file)) return MGL_ERROR;
  for (; r.iteration < until && !mgl_session_step(s, &r); printf("%d %.17g %.9g\n", (int)r.iteration, r.loss, g[0]))
    if (mgl_session_tensor_read(s, "decoder.final_layernorm.weight", MGL_GRADIENT, g, 16)) return MGL_ERROR;
  return r.iteration < until || mgl_session_save(s, dir) || mgl_session_free(s);
}
int main(int argc, char** argv) {
  mgl_config* config;
  FILE* file = fopen(argv[1], "rb");
  if (mgl_config_new(&config) || mgl_config_parse(config, argc - 3, (const char* const*)argv + 3) ||
      train(config, file, argv[2], 3) || mgl_config_set(config, "load", argv[2]) || train(config, file, argv[2], 6))
    return fprintf(stderr, "%s\n", mgl_last_error()), 1;
}
