/* Megalith as a library: the C interface. C11 and C++11 can read it.
 *
 * A session is one rank of a GPT in training. The caller owns the loop: it gives the batches, and each call of
 * mgl_session_step makes one update. The library never exits, prints or changes signals.
 *
 * With several ranks each has its own session, in one of the caller's processes or threads. All ranks must make the
 * same calls of mgl_session_step, _evaluate, _save, _load, _tensor_read and _tensor_write, in the same order.
 *
 * Every function that can fail returns 0 or a status below. After a failure mgl_last_error() has the reason in one
 * line. Structs begin with `size`; the caller sets it to sizeof of the struct. Later versions only add fields at their
 * ends. A session or config may be used by one thread at a time. Different ones may be used at the same time. */
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
  MGL_ERROR = 1,       /* the operation failed */
  MGL_BAD_ARGUMENT = 2 /* null, a handle that is not alive, a wrong size */
};

typedef struct mgl_config mgl_config;
typedef struct mgl_session mgl_session;

const char* mgl_version(void);
int mgl_api_version(void);
const char* mgl_last_error(void); /* of this thread's last failed call; never null */

/* The settings of a session, by the flags of `megalith pretrain-gpt`. mgl_session_new refuses flags that only the
 * command uses (data, logs, intervals of saves). */
mgl_status mgl_config_new(mgl_config** out);
mgl_status mgl_config_set(mgl_config* config, const char* name, const char* value); /* name: "num-layers";
                                                                                       value: null for a switch */
mgl_status mgl_config_parse(mgl_config* config, int argc, const char* const* argv); /* argv[0] is the first flag */
mgl_status mgl_config_load_yaml(mgl_config* config, const char* path);              /* like the flag --config */
mgl_status mgl_config_free(mgl_config* config);                                     /* null: nothing */

/* A micro-batch for the caller to fill: one row of seq_length numbers for each sequence. Before the call tokens and
 * labels are 0, loss_mask is 1, and positions are 0, 1, ... in each sequence. loss_mask is the weight of a token in the
 * loss. */
typedef struct mgl_batch {
  size_t size;
  int64_t first_sample; /* number of earlier samples of all ranks, in training or in this evaluation */
  int64_t sequences;
  int64_t seq_length;
  int32_t* tokens;
  int32_t* labels;
  float* loss_mask;
  int32_t* position_ids;
} mgl_batch;
typedef int (*mgl_batch_fn)(void* user, mgl_batch* batch); /* 0: success; else the step fails */

/* Receives a log line without newline. level: 0 output, 1 information, 2 warning. */
typedef void (*mgl_log_fn)(void* user, int level, const char* line);

typedef struct mgl_session_options {
  size_t size;
  mgl_log_fn log; /* null: no log */
  void* log_user;
  /* For several ranks. The flags give their layout, as for the command. Ranks with the same data-parallel index must
   * fill the same micro-batches. */
  int32_t rank, world_size;   /* world_size 0 or 1: one rank */
  int32_t local_rank;         /* index on this host; it selects the GPU */
  int32_t master_port;        /* a free port of rank 0's host; the same on all ranks */
  const char* master_address; /* host of rank 0 */
} mgl_session_options;

typedef struct mgl_step_result {
  size_t size;
  int64_t iteration;        /* finished updates */
  int64_t consumed_samples; /* by all ranks so far */
  double loss;              /* mean over the step's tokens */
  double grad_norm;         /* before clipping */
  int64_t counted;          /* 0: loss or norm was not finite, so nothing was updated */
  double tokens;            /* since 0.3: sum of loss_mask over this rank's batches */
  double seconds;           /* since 0.3: duration of the call */
} mgl_step_result;

/* options: null for the defaults. With the flag "load" the session resumes from a checkpoint. */
mgl_status mgl_session_new(const mgl_config* config, const mgl_session_options* options, mgl_session** out);
mgl_status mgl_session_free(mgl_session* session); /* null: nothing */
mgl_status mgl_session_set_batches(mgl_session* session, mgl_batch_fn fill, void* user);
/* One update. If the caller's function fails, nothing changes, and the session can be used on. result: may be null. */
mgl_status mgl_session_step(mgl_session* session, mgl_step_result* result);
mgl_status mgl_session_iteration(const mgl_session* session, int64_t* out);
/* The mean loss over this many micro-batches from `fill`, without an update. */
mgl_status mgl_session_evaluate(mgl_session* session, mgl_batch_fn fill, void* user, int64_t micro_batches,
                                double* loss);
/* Saves a checkpoint in `dir`, in the command's format. */
mgl_status mgl_session_save(mgl_session* session, const char* dir);
/* Loads the latest checkpoint of `dir`. It replaces the session's whole state. */
mgl_status mgl_session_load(mgl_session* session, const char* dir);

enum { MGL_MAX_DIMS = 8 };
typedef struct mgl_tensor_info {
  size_t size;
  const char* name; /* valid until the session is freed */
  int64_t elements;
  int64_t ndim;
  int64_t shape[MGL_MAX_DIMS];
  int64_t is_weight; /* 0: optimizer state */
} mgl_tensor_info;

enum {
  MGL_VALUE = 0,       /* the tensor: weights, "optimizer.exp_avg.NAME", ... */
  MGL_GRADIENT = 1,    /* gradient of a weight: of the last step's mean loss, before clipping */
  MGL_GRADIENT_SUM = 2 /* since 0.3, only for views: of the sum of losses, MGL_GRADIENT times `tokens` */
};

mgl_status mgl_session_tensor_count(const mgl_session* session, int64_t* out);
mgl_status mgl_session_tensor_info(const mgl_session* session, int64_t number, mgl_tensor_info* out);
mgl_status mgl_session_tensor_find(const mgl_session* session, const char* name, mgl_tensor_info* out);
/* Reads all elements in row-major order, as f32, also those on other ranks. elements: the tensor's number of elements.
 * Gradients can be read only with one rank. */
mgl_status mgl_session_tensor_read(mgl_session* session, const char* name, int kind, float* out, int64_t elements);
mgl_status mgl_session_tensor_write(mgl_session* session, const char* name, const float* values, int64_t elements);

enum { MGL_F32 = 0 };
typedef struct mgl_tensor_view {
  size_t size;
  void* data; /* row-major memory of the session; later steps change it; valid until the session is freed */
  int64_t ndim;
  int64_t shape[MGL_MAX_DIMS];
  int32_t type;        /* MGL_F32 */
  int32_t is_writable; /* 0: the session ignores writes to this memory: use mgl_session_tensor_write */
} mgl_tensor_view;
/* Since 0.3. A tensor's memory, without a copy. The session must have one rank and run on the CPU. kind: MGL_VALUE, or
 * MGL_GRADIENT_SUM after a step. */
mgl_status mgl_session_tensor_view(mgl_session* session, const char* name, int kind, mgl_tensor_view* out);

#ifdef __cplusplus
}
#endif

#endif
