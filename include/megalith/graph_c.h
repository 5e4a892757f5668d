/* Models of the caller's own, in C. UNSTABLE: a later version may change all of this file.
 *
 * A model is a function that adds the forward of one micro-batch to a graph. Backward, update, checkpoints and the work
 * of several ranks follow from that. It is called while the session is made. */
#ifndef MEGALITH_GRAPH_C_H
#define MEGALITH_GRAPH_C_H

#include <megalith/megalith.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mgl_graph mgl_graph;
typedef int32_t mgl_value;                                 /* below 0: the call failed, as mgl_last_error says */
typedef int (*mgl_model_fn)(void* user, mgl_graph* graph); /* 0: it is built */

enum { MGL_MATRIX = 0, MGL_VECTOR = 1, MGL_EMBEDDING = 2, MGL_OUTPUT = 3 }; /* a weight to its optimizer */
enum { MGL_GELU = 0, MGL_GELU_TANH = 1, MGL_SQUARED_RELU = 2, MGL_TANH = 3, MGL_RELU = 4 };

/* config: flags of training, and seq-length and vocab-size; none of a GPT's. */
mgl_status mgl_session_new_model(const mgl_config* config, const mgl_session_options* options, mgl_model_fn model,
                                 void* user, mgl_session** out);
/* name: tokens, labels, position_ids (ids) or loss_mask; [sequence, batch]. */
mgl_value mgl_graph_data(mgl_graph* graph, const char* name);
/* split: the dimension that tensor-parallel ranks share; -1: each has all. Drawn from a normal distribution. */
mgl_value mgl_graph_weight(mgl_graph* graph, const char* name, int kind, const int64_t* dims, int ndim, int split,
                           double mean, double std);
mgl_value mgl_graph_embedding(mgl_graph* graph, mgl_value ids, mgl_value table);
mgl_value mgl_graph_einsum(mgl_graph* graph, const char* spec, mgl_value x, mgl_value w); /* spec: "sbh,fh->sbf" */
mgl_value mgl_graph_add(mgl_graph* graph, const char* spec, mgl_value x, mgl_value y);    /* spec: "sbh,h->sbh" */
mgl_value mgl_graph_activate(mgl_graph* graph, int activation, mgl_value x);
mgl_value mgl_graph_rms_norm(mgl_graph* graph, const char* letters, mgl_value x, mgl_value w, double eps);
/* Between what all tensor-parallel ranks have and what each has a part of. Forward nothing, backward the sum: */
mgl_value mgl_graph_copy_to_ranks(mgl_graph* graph, mgl_value x);
/* Forward the sum, backward nothing: */
mgl_value mgl_graph_sum_over_ranks(mgl_graph* graph, mgl_value x);
/* The model's loss: of logits [sequence, batch, vocabulary], the mean over labels that loss_mask counts. */
mgl_status mgl_graph_cross_entropy(mgl_graph* graph, mgl_value logits);

#ifdef __cplusplus
}
#endif

#endif
