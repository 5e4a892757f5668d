/* Where programs that were built with the first library have each field. A line is added, and none is changed. */
#include <megalith/megalith.h>
#include <stddef.h>

#define HELD(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field " has moved")

HELD(mgl_batch, size, 0);
HELD(mgl_batch, first_sample, 8);
HELD(mgl_batch, sequences, 16);
HELD(mgl_batch, seq_length, 24);
HELD(mgl_batch, tokens, 32);
HELD(mgl_batch, labels, 40);
HELD(mgl_batch, loss_mask, 48);
HELD(mgl_batch, position_ids, 56);
HELD(mgl_session_options, size, 0);
HELD(mgl_session_options, log, 8);
HELD(mgl_session_options, log_user, 16);
HELD(mgl_session_options, rank, 24);
HELD(mgl_session_options, world_size, 28);
HELD(mgl_session_options, local_rank, 32);
HELD(mgl_session_options, master_port, 36);
HELD(mgl_session_options, master_address, 40);
HELD(mgl_step_result, size, 0);
HELD(mgl_step_result, iteration, 8);
HELD(mgl_step_result, consumed_samples, 16);
HELD(mgl_step_result, loss, 24);
HELD(mgl_step_result, grad_norm, 32);
HELD(mgl_step_result, counted, 40);
HELD(mgl_tensor_info, size, 0);
HELD(mgl_tensor_info, name, 8);
HELD(mgl_tensor_info, elements, 16);
HELD(mgl_tensor_info, ndim, 24);
HELD(mgl_tensor_info, shape, 32);
HELD(mgl_tensor_info, is_weight, 96);

_Static_assert(MGL_OK == 0 && MGL_ERROR == 1 && MGL_BAD_ARGUMENT == 2, "a status has another number");
_Static_assert(MGL_VALUE == 0 && MGL_GRADIENT == 1, "a kind has another number");
