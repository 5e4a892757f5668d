// The C interface of sessions.
#include <algorithm>
#include <cstddef>

#include "base/log.h"
#include "library/handles.h"
#include "library/session_options.h"

using namespace megalith;

// A call that works on a session: what it says goes to the session's own listener.
template <class F>
static mgl_status on(mgl_session* s, F&& f) noexcept {
  return call([&] {
    want_alive(s);
    const log::SinkScope scope(s->sink);
    f(*s->it);
  });
}

static log::Sink sink_of(const mgl_session_options* options) {
  if (!options) return {};
  want(options->size >= sizeof(mgl_session_options), "the options' size is {}: set it to sizeof of the struct, {}",
       options->size, sizeof(mgl_session_options));
  if (!options->log) return {};
  return [log = options->log, user = options->log_user](log::SinkLevel level, std::string_view line) {
    log(user, int(level), std::string(line).c_str());
  };
}

static mgl_tensor_info info_of(const StateTensor& t) {
  check(t.shape.size() <= size_t(MGL_MAX_DIMS), "tensor {} has {} dimensions, more than {}", t.name, t.shape.size(),
        int(MGL_MAX_DIMS));
  mgl_tensor_info info{};
  info.name = t.name.c_str(), info.elements = count(t.shape), info.ndim = int64_t(t.shape.size());
  std::copy(t.shape.begin(), t.shape.end(), info.shape);
  info.is_weight = t.is_weight;
  return info;
}

extern "C" {

mgl_status mgl_session_new(const mgl_config* config, const mgl_session_options* options, mgl_session** out) {
  return call([&] {
    want_alive(config);
    want(out != nullptr, "the place for the session is null");
    log::mute();  // what threads of a session say, which have no listener, is not for this process's output
    auto made = std::make_unique<mgl_session>();
    made->sink = sink_of(options);
    const log::SinkScope scope(made->sink);
    made->it.emplace(session_options(config->words));
    sessions().add(made.get());
    *out = made.release();
  });
}

mgl_status mgl_session_free(mgl_session* session) {
  return call([&] {
    if (!session) return;
    want(sessions().remove(session), "the session was freed already, or is none");
    const std::unique_ptr<mgl_session> it(session);
    const log::SinkScope scope(it->sink);
    it->it.reset();
  });
}

mgl_status mgl_session_set_batches(mgl_session* session, mgl_batch_fn fill, void* user) {
  return on(session, [&](TrainingSession& s) {
    want(fill != nullptr, "the function that fills batches is null");
    s.set_batches({fill, user});
  });
}

mgl_status mgl_session_step(mgl_session* session, mgl_step_result* result) {
  return on(session, [&](TrainingSession& s) {
    want(!result || result->size >= sizeof(mgl_step_result), "the result's size is {}: set it to sizeof, {}",
         result->size, sizeof(mgl_step_result));
    const StepResult r = s.step();
    const mgl_step_result full{sizeof full, s.state().iteration, s.state().consumed_samples,
                               r.loss,      r.grad_norm,         r.counted};
    if (result) give(result, full, sizeof full);
  });
}

mgl_status mgl_session_iteration(const mgl_session* session, int64_t* out) {
  return call([&] {
    want_alive(session);
    want(out != nullptr, "the place for the iteration is null");
    *out = session->it->state().iteration;
  });
}

mgl_status mgl_session_evaluate(mgl_session* session, mgl_batch_fn fill, void* user, int64_t micro_batches,
                                double* loss) {
  return on(session, [&](TrainingSession& s) {
    want(fill != nullptr && loss != nullptr, "the function that fills batches, or the place for the loss, is null");
    *loss = s.evaluate({fill, user}, micro_batches);
  });
}

mgl_status mgl_session_save(mgl_session* session, const char* dir) {
  return on(session, [&](TrainingSession& s) {
    want(dir != nullptr && *dir != 0, "the directory is null or empty");
    s.save(dir);
  });
}

mgl_status mgl_session_load(mgl_session* session, const char* dir) {
  return on(session, [&](TrainingSession& s) {
    want(dir != nullptr && *dir != 0, "the directory is null or empty");
    s.load(dir);
  });
}

mgl_status mgl_session_tensor_count(const mgl_session* session, int64_t* out) {
  return call([&] {
    want_alive(session);
    want(out != nullptr, "the place for the count is null");
    *out = int64_t(session->it->tensors().size());
  });
}

mgl_status mgl_session_tensor_info(const mgl_session* session, int64_t number, mgl_tensor_info* out) {
  return call([&] {
    want_alive(session);
    want(out != nullptr, "the place for the tensor's facts is null");
    const std::vector<StateTensor>& all = session->it->tensors();
    want(number >= 0 && number < int64_t(all.size()), "tensor number {}: there are {}", number, all.size());
    give(out, info_of(all[size_t(number)]), sizeof(mgl_tensor_info));
  });
}

mgl_status mgl_session_tensor_find(const mgl_session* session, const char* name, mgl_tensor_info* out) {
  return call([&] {
    want_alive(session);
    want(name != nullptr && out != nullptr, "the tensor's name, or the place for its facts, is null");
    give(out, info_of(session->it->tensor(name)), sizeof(mgl_tensor_info));
  });
}

mgl_status mgl_session_tensor_read(mgl_session* session, const char* name, int kind, float* out, int64_t elements) {
  return on(session, [&](TrainingSession& s) {
    want(name != nullptr && out != nullptr && elements >= 0, "the tensor's name or the place for it is null, or {} < 0",
         elements);
    want(kind == MGL_VALUE || kind == MGL_GRADIENT, "kind {}: want MGL_VALUE or MGL_GRADIENT", kind);
    const std::span<float> to(out, size_t(elements));
    kind == MGL_VALUE ? s.read(name, to) : s.read_gradient(name, to);
  });
}

mgl_status mgl_session_tensor_write(mgl_session* session, const char* name, const float* values, int64_t elements) {
  return on(session, [&](TrainingSession& s) {
    want(name != nullptr && values != nullptr && elements >= 0, "the tensor's name or its values are null, or {} < 0",
         elements);
    s.write(name, std::span<const float>(values, size_t(elements)));
  });
}

}  // extern "C"
