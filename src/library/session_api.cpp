// The C interface for sessions.
#include <algorithm>
#include <cstddef>

#include "base/clock.h"
#include "base/log.h"
#include "library/handles.h"
#include "library/session_options.h"

using namespace megalith;

// Runs a call on a session. Log lines go to the session's own listener.
template <class F>
static mgl_status on(mgl_session* s, F&& f) noexcept {
  return call([&] {
    want_alive(s);
    const log::SinkScope scope(s->sink);
    f(*s->it);
  });
}

// The caller's struct, as far as its size goes; missing members are 0.
static mgl_session_options whole(const mgl_session_options* given) {
  mgl_session_options out{};
  if (!given) return out;
  constexpr size_t kFirst = offsetof(mgl_session_options, rank);  // size of the first version
  want(given->size >= kFirst, "the options' size is {}: set it to sizeof of the struct, {}", given->size, sizeof out);
  std::memcpy(&out, given, std::min(given->size, sizeof out));
  return out;
}

static log::Sink sink_of(const mgl_session_options& options) {
  if (!options.log) return {};
  return [log = options.log, user = options.log_user](log::SinkLevel level, std::string_view line) {
    log(user, int(level), std::string(line).c_str());
  };
}

static Place place_of(const mgl_session_options& o) {
  Place place;
  if (o.world_size == 0 && o.rank == 0) return place;
  want(o.world_size >= 1 && o.rank >= 0 && o.rank < o.world_size, "rank {} of {}: want 0 to {}", o.rank, o.world_size,
       o.world_size - 1);
  want(o.local_rank >= 0, "local_rank {}: want 0 or more", o.local_rank);
  place.rank = o.rank, place.size = o.world_size, place.local_rank = o.local_rank, place.local_size = o.local_rank + 1;
  if (place.size == 1) return place;
  want(o.master_address && *o.master_address, "{} ranks, and no master_address: give rank 0's", place.size);
  want(o.master_port > 0 && o.master_port < 65536, "master_port {}: want 1 to 65535", o.master_port);
  place.launcher = "environment", place.master_address = o.master_address, place.master_port = o.master_port;
  return place;
}

static mgl_tensor_info info_of(const WholeTensor& t) {
  check(t.shape.size() <= size_t(MGL_MAX_DIMS), "tensor {} has {} dimensions, more than {}", t.name, t.shape.size(),
        int(MGL_MAX_DIMS));
  mgl_tensor_info info{};
  info.name = t.name.c_str(), info.elements = count(t.shape), info.ndim = int64_t(t.shape.size());
  std::copy(t.shape.begin(), t.shape.end(), info.shape);
  info.is_weight = t.is_weight;
  return info;
}

namespace megalith {

mgl_status new_session(const mgl_config* config, const mgl_session_options* options, std::shared_ptr<GivenModel> own,
                       mgl_session** out) {
  return call([&] {
    want_alive(config);
    want(out != nullptr, "the place for the session is null");
    log::mute();  // log lines of threads without a listener must not go to this process's output
    auto made = std::make_unique<mgl_session>();
    const mgl_session_options given = whole(options);
    made->sink = sink_of(given);
    const log::SinkScope scope(made->sink);
    const Place place = place_of(given);
    Options read = session_options(config->words, {place.size, own != nullptr});
    if (own) own->set_sizes(read.model.seq_length, read.model.vocab_size);
    made->it.emplace(std::move(read), place, std::move(own));
    sessions().add(made.get());
    *out = made.release();
  });
}

}  // namespace megalith

extern "C" {

mgl_status mgl_session_new(const mgl_config* config, const mgl_session_options* options, mgl_session** out) {
  return new_session(config, options, nullptr, out);
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
    constexpr size_t kFirst = offsetof(mgl_step_result, tokens);  // size of the first version
    want(!result || result->size >= kFirst, "the result's size is {}: set it to sizeof, {}", result->size,
         sizeof(mgl_step_result));
    const double began = steady_seconds();
    const StepResult r = s.step();
    const mgl_step_result full{sizeof full, s.state().iteration, s.state().consumed_samples, r.loss, r.grad_norm,
                               r.counted,   s.tokens(),          steady_seconds() - began};
    if (result) give(result, full, kFirst);
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
    const std::vector<WholeTensor>& all = session->it->tensors();
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

mgl_status mgl_session_tensor_view(mgl_session* session, const char* name, int kind, mgl_tensor_view* out) {
  return on(session, [&](TrainingSession& s) {
    want(name != nullptr && out != nullptr, "the tensor's name, or the place for its view, is null");
    want(kind == MGL_VALUE || kind == MGL_GRADIENT_SUM, "kind {}: a view is of MGL_VALUE or MGL_GRADIENT_SUM", kind);
    const TrainingSession::View view = kind == MGL_VALUE ? s.view(name) : s.view_gradient_sum(name);
    mgl_tensor_view full{};
    full.data = view.data, full.ndim = int64_t(view.shape.size());
    std::copy(view.shape.begin(), view.shape.end(), full.shape);
    full.type = MGL_F32, full.is_writable = view.is_writable;
    give(out, full, sizeof full);
  });
}

}  // extern "C"
