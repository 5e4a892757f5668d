/* Megalith as a library: the C interface. C11 and C++11 can read it.
 *
 * A session is one rank of a GPT that is trained. The caller owns the loop: it gives the batches, and each call of
 * mgl_session_step makes one update. The library never exits, prints or touches signals.
 *
 * Of several ranks each has a session of its own, in processes or threads of the caller's. All of them make the same
 * calls of mgl_session_step, _evaluate, _save, _load, _tensor_read and _tensor_write, in the same order.
 *
 * Every function that can fail returns 0, or a status below; mgl_last_error() then says why, in one line. Structs begin
 * with `size`, which the caller sets to sizeof of the struct. Later versions add fields at their ends alone. A session
 * and a config are for one thread at a time; different ones are for different threads. */
#ifndef MEGALITH_MEGALITH_H
#define MEGALITH_MEGALITH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MGL_API_VERSION 2 /* 2: since 0.3; 1: since 0.2 */

typedef int mgl_status;
enum {
  MGL_OK = 0,
  MGL_ERROR = 1,       /* what was asked for failed */
  MGL_BAD_ARGUMENT = 2 /* null, a handle that is not alive, a wrong size */
};

typedef struct mgl_config mgl_config;
typedef struct mgl_session mgl_session;

const char* mgl_version(void);
int mgl_api_version(void);
const char* mgl_last_error(void); /* of this thread's last call that failed; never null */

/* The settings of a session: the flags of `megalith pretrain-gpt`, whose names and meanings they have. What only the
 * command does (its data, logs, intervals of saves) is refused by mgl_session_new. */
mgl_status mgl_config_new(mgl_config** out);
mgl_status mgl_config_set(mgl_config* config, const char* name, const char* value); /* name: "num-layers";
                                                                                       value: null for a switch */
mgl_status mgl_config_parse(mgl_config* config, int argc, const char* const* argv); /* argv[0] is a flag too */
mgl_status mgl_config_load_yaml(mgl_config* config, const char* path);              /* as the flag --config */
mgl_status mgl_config_free(mgl_config* config);                                     /* null: nothing */

/* One micro-batch to be filled: rows of seq_length, one for each sequence. Tokens and labels begin as zeros, each
 * loss_mask as 1, positions as 0, 1, ... of their sequence. A weight of loss_mask other than 1 weighs its token. */
typedef struct mgl_batch {
  size_t size;
  int64_t first_sample; /* how many samples of all ranks come before; for evaluations, of this evaluation */
  int64_t sequences;
  int64_t seq_length;
  int32_t* tokens;
  int32_t* labels;
  float* loss_mask;
  int32_t* position_ids;
} mgl_batch;
typedef int (*mgl_batch_fn)(void* user, mgl_batch* batch); /* 0: it is filled; else the step fails */

/* A line for people; it has no newline. level: 0 output, 1 information, 2 a warning. */
typedef void (*mgl_log_fn)(void* user, int level, const char* line);

typedef struct mgl_session_options {
  size_t size;
  mgl_log_fn log; /* null: nobody is told */
  void* log_user;
  /* Of several ranks, whose layout the flags give, as of the command. Ranks of one data-parallel place are asked for
   * the same micro-batches: */
  int32_t rank, world_size;   /* world_size 0 or 1: alone */
  int32_t local_rank;         /* on this host: chooses the GPU */
  int32_t master_port;        /* free on rank 0's host; the same on all ranks */
  const char* master_address; /* where the others reach rank 0 */
} mgl_session_options;

typedef struct mgl_step_result {
  size_t size;
  int64_t iteration;        /* finished so far */
  int64_t consumed_samples; /* so far */
  double loss;              /* mean over the step's tokens */
  double grad_norm;         /* before clipping */
  int64_t counted;          /* 0: loss or norm were not finite, and nothing was updated */
  double tokens;            /* since 0.3: of this rank's batches, the sum of loss_mask */
  double seconds;           /* since 0.3: that the call took */
} mgl_step_result;

/* options: null for the defaults. With the flag "load" the session goes on from a checkpoint. */
mgl_status mgl_session_new(const mgl_config* config, const mgl_session_options* options, mgl_session** out);
mgl_status mgl_session_free(mgl_session* session); /* null: nothing */
mgl_status mgl_session_set_batches(mgl_session* session, mgl_batch_fn fill, void* user);
/* One update. If a batch fails, nothing has changed and the session goes on. result: may be null. */
mgl_status mgl_session_step(mgl_session* session, mgl_step_result* result);
mgl_status mgl_session_iteration(const mgl_session* session, int64_t* out);
/* The mean loss over so many micro-batches of `fill`, without an update. */
mgl_status mgl_session_evaluate(mgl_session* session, mgl_batch_fn fill, void* user, int64_t micro_batches,
                                double* loss);
/* A checkpoint in DIR, as the command saves it; the latest of DIR, in place of all that the session has. */
mgl_status mgl_session_save(mgl_session* session, const char* dir);
mgl_status mgl_session_load(mgl_session* session, const char* dir);

enum { MGL_MAX_DIMS = 8 };
typedef struct mgl_tensor_info {
  size_t size;
  const char* name; /* lives as long as the session */
  int64_t elements;
  int64_t ndim;
  int64_t shape[MGL_MAX_DIMS];
  int64_t is_weight; /* 0: state of the optimizer */
} mgl_tensor_info;

enum {
  MGL_VALUE = 0,       /* the tensor: weights, "optimizer.exp_avg.NAME", ... */
  MGL_GRADIENT = 1,    /* of a weight: that of the last step's mean loss, before clipping */
  MGL_GRADIENT_SUM = 2 /* since 0.3, for views: that of the sum of the tokens' losses; MGL_GRADIENT times `tokens` */
};

mgl_status mgl_session_tensor_count(const mgl_session* session, int64_t* out);
mgl_status mgl_session_tensor_info(const mgl_session* session, int64_t number, mgl_tensor_info* out);
mgl_status mgl_session_tensor_find(const mgl_session* session, const char* name, mgl_tensor_info* out);
/* All elements, also of what ranks share, in row-major order, as f32. elements: as many as the tensor has. Gradients
 * are read of one rank alone. */
mgl_status mgl_session_tensor_read(mgl_session* session, const char* name, int kind, float* out, int64_t elements);
mgl_status mgl_session_tensor_write(mgl_session* session, const char* name, const float* values, int64_t elements);

enum { MGL_F32 = 0 };
typedef struct mgl_tensor_view {
  size_t size;
  void* data; /* row-major; the session's own memory, which later steps change, until the session is freed */
  int64_t ndim;
  int64_t shape[MGL_MAX_DIMS];
  int32_t type;        /* MGL_F32 */
  int32_t is_writable; /* 0: the session would not see what is written there: use mgl_session_tensor_write */
} mgl_tensor_view;
/* Since 0.3. A tensor's memory, without a copy: of a session that is alone and on the CPU. kind: MGL_VALUE, or
 * MGL_GRADIENT_SUM after a step. */
mgl_status mgl_session_tensor_view(mgl_session* session, const char* name, int kind, mgl_tensor_view* out);

#ifdef __cplusplus
}
#endif

#endif
