/* Models of your own, in C. UNSTABLE: a later version may change all of this file.
 *
 * A model is a function that adds the forward of one micro-batch to a graph. The library derives the backward, the
 * update, the checkpoints, and the work of several ranks. It calls the function when the session is created. */
#ifndef MEGALITH_GRAPH_C_H
#define MEGALITH_GRAPH_C_H

#include <megalith/megalith.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mgl_graph mgl_graph;
typedef int32_t mgl_value;                                 /* below 0: the call failed; mgl_last_error() has why */
typedef int (*mgl_model_fn)(void* user, mgl_graph* graph); /* 0: success */

enum { MGL_MATRIX = 0, MGL_VECTOR = 1, MGL_EMBEDDING = 2, MGL_OUTPUT = 3 }; /* kinds of weights, for the optimizer */
enum { MGL_GELU = 0, MGL_GELU_TANH = 1, MGL_SQUARED_RELU = 2, MGL_TANH = 3, MGL_RELU = 4 };

/* config: flags of the training, and of the model only seq-length and vocab-size. */
mgl_status mgl_session_new_model(const mgl_config* config, const mgl_session_options* options, mgl_model_fn model,
                                 void* user, mgl_session** out);
/* An array of the batch, [sequence, batch]. name: tokens, labels, position_ids or loss_mask. */
mgl_value mgl_graph_data(mgl_graph* graph, const char* name);
/* split: the dimension that tensor-parallel ranks split; -1: each rank has the whole weight. Initial values are
 * normally distributed. */
mgl_value mgl_graph_weight(mgl_graph* graph, const char* name, int kind, const int64_t* dims, int ndim, int split,
                           double mean, double std);
mgl_value mgl_graph_embedding(mgl_graph* graph, mgl_value ids, mgl_value table);
mgl_value mgl_graph_einsum(mgl_graph* graph, const char* spec, mgl_value x, mgl_value w); /* spec: "sbh,fh->sbf" */
mgl_value mgl_graph_add(mgl_graph* graph, const char* spec, mgl_value x, mgl_value y);    /* spec: "sbh,h->sbh" */
mgl_value mgl_graph_activate(mgl_graph* graph, int activation, mgl_value x);
mgl_value mgl_graph_rms_norm(mgl_graph* graph, const char* letters, mgl_value x, mgl_value w, double eps);
/* Use it before an operation with a split weight. Forward: identity. Backward: sum over tensor-parallel ranks. */
mgl_value mgl_graph_copy_to_ranks(mgl_graph* graph, mgl_value x);
/* Use it after an operation that sums over a split dimension. Forward: sum over tensor-parallel ranks. Backward:
 * identity. */
mgl_value mgl_graph_sum_over_ranks(mgl_graph* graph, mgl_value x);
/* The model's loss: the cross entropy of logits [sequence, batch, vocabulary], averaged with loss_mask's weights. */
mgl_status mgl_graph_cross_entropy(mgl_graph* graph, mgl_value logits);

#ifdef __cplusplus
}
#endif

#endif
