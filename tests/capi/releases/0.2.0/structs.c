/* What programs that were built with 0.2.0 know of structs: their sizes, and each field's type and place. */
#include <megalith/megalith.h>
#include <stddef.h>

#define HELD(type, of, field, at)                                               \
  _Static_assert(offsetof(type, field) == (at), #type "." #field " has moved"); \
  _Static_assert(_Generic(((type*)0)->field, of : 1, default : 0), #type "." #field " has another type")
#ifdef EXACT /* 0.2.0's own header; later ones may have more fields */
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has another size")
#else
#define SIZE(type, bytes) _Static_assert(sizeof(type) >= (bytes), #type " has lost a field")
#endif

SIZE(mgl_batch, 64);
HELD(mgl_batch, size_t, size, 0);
HELD(mgl_batch, int64_t, first_sample, 8);
HELD(mgl_batch, int64_t, sequences, 16);
HELD(mgl_batch, int64_t, seq_length, 24);
HELD(mgl_batch, int32_t*, tokens, 32);
HELD(mgl_batch, int32_t*, labels, 40);
HELD(mgl_batch, float*, loss_mask, 48);
HELD(mgl_batch, int32_t*, position_ids, 56);

SIZE(mgl_session_options, 48);
HELD(mgl_session_options, size_t, size, 0);
HELD(mgl_session_options, mgl_log_fn, log, 8);
HELD(mgl_session_options, void*, log_user, 16);
HELD(mgl_session_options, int32_t, rank, 24);
HELD(mgl_session_options, int32_t, world_size, 28);
HELD(mgl_session_options, int32_t, local_rank, 32);
HELD(mgl_session_options, int32_t, master_port, 36);
HELD(mgl_session_options, const char*, master_address, 40);

SIZE(mgl_step_result, 48);
HELD(mgl_step_result, size_t, size, 0);
HELD(mgl_step_result, int64_t, iteration, 8);
HELD(mgl_step_result, int64_t, consumed_samples, 16);
HELD(mgl_step_result, double, loss, 24);
HELD(mgl_step_result, double, grad_norm, 32);
HELD(mgl_step_result, int64_t, counted, 40);

SIZE(mgl_tensor_info, 104);
HELD(mgl_tensor_info, size_t, size, 0);
HELD(mgl_tensor_info, const char*, name, 8);
HELD(mgl_tensor_info, int64_t, elements, 16);
HELD(mgl_tensor_info, int64_t, ndim, 24);
HELD(mgl_tensor_info, int64_t*, shape, 32);
HELD(mgl_tensor_info, int64_t, is_weight, 96);

_Static_assert(MGL_OK == 0 && MGL_ERROR == 1 && MGL_BAD_ARGUMENT == 2, "a status has another number");
_Static_assert(MGL_VALUE == 0 && MGL_GRADIENT == 1 && MGL_MAX_DIMS == 8, "a kind, or a limit, has another number");
