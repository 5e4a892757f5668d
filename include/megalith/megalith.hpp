// Megalith as a library: C++20 over the C interface, header-only. A failed call throws megalith::Failed.
#ifndef MEGALITH_MEGALITH_HPP
#define MEGALITH_MEGALITH_HPP

#include <megalith/megalith.h>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace megalith {

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void must(mgl_status status) {
  if (status != MGL_OK) throw Failed(mgl_last_error());
}

// The flags of `megalith pretrain-gpt`.
class Config {
 public:
  Config() { must(mgl_config_new(&it_)); }
  explicit Config(const std::vector<const char*>& words) : Config() { parse(words); }
  ~Config() { mgl_config_free(it_); }
  Config(Config&& other) noexcept : it_(std::exchange(other.it_, nullptr)) {}
  Config& operator=(Config&& other) noexcept {
    std::swap(it_, other.it_);
    return *this;
  }

  Config& set(const std::string& name) { return must(mgl_config_set(it_, name.c_str(), nullptr)), *this; }
  Config& set(const std::string& name, const std::string& value) {
    return must(mgl_config_set(it_, name.c_str(), value.c_str())), *this;
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> Config& set(const std::string& name, Number value) {
    return set(name, std::to_string(value));
  }
  Config& parse(const std::vector<const char*>& words) {
    return must(mgl_config_parse(it_, int(words.size()), words.data())), *this;
  }
  Config& load_yaml(const std::string& path) { return must(mgl_config_load_yaml(it_, path.c_str())), *this; }
  const mgl_config* get() const { return it_; }

 private:
  mgl_config* it_ = nullptr;
};

using Fill = std::function<void(mgl_batch&)>;  // the step throws what this function throws
using Log = std::function<void(int level, const char* line)>;

// The rank of a session. local_rank: its index on the host, which selects the GPU.
struct Rank {
  int rank = 0, world_size = 1;
  std::string master_address = {};  // host of rank 0
  int master_port = 0;
  int local_rank = 0;
};

class Session {
 public:
  explicit Session(const Config& config, Log log = {}, const Rank& rank = {})
      : Session([&](const auto* options, auto** out) { return mgl_session_new(config.get(), options, out); },
                std::move(log), rank) {}
  // With another function that creates the handle (graph.h).
  using Make = std::function<mgl_status(const mgl_session_options*, mgl_session**)>;
  Session(const Make& make, Log log, const Rank& rank) : kept_(std::make_unique<Kept>()) {
    kept_->log = std::move(log);
    mgl_session_options o{};
    o.size = sizeof o, o.log = kept_->log ? tell : nullptr, o.log_user = kept_.get();
    o.rank = rank.rank, o.world_size = rank.world_size, o.local_rank = rank.local_rank;
    o.master_address = rank.master_address.c_str(), o.master_port = rank.master_port;
    must(make(&o, &it_));
  }
  ~Session() { mgl_session_free(it_); }
  Session(Session&& other) noexcept : it_(std::exchange(other.it_, nullptr)), kept_(std::move(other.kept_)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(it_, other.it_), std::swap(kept_, other.kept_);
    return *this;
  }

  void batches(Fill fill) {
    kept_->batches.fill = std::move(fill);
    must(mgl_session_set_batches(it_, filled, &kept_->batches));
  }
  mgl_step_result step() {
    mgl_step_result result{};
    result.size = sizeof result;
    kept_->batches.ended(mgl_session_step(it_, &result));
    return result;
  }
  int64_t iteration() const {
    int64_t out = 0;
    return must(mgl_session_iteration(it_, &out)), out;
  }
  double evaluate(Fill fill, int64_t micro_batches) {
    Filler filler{std::move(fill), nullptr};
    double loss = 0;
    filler.ended(mgl_session_evaluate(it_, filled, &filler, micro_batches, &loss));
    return loss;
  }
  void save(const std::string& dir) { must(mgl_session_save(it_, dir.c_str())); }
  void load(const std::string& dir) { must(mgl_session_load(it_, dir.c_str())); }

  int64_t tensor_count() const {
    int64_t out = 0;
    return must(mgl_session_tensor_count(it_, &out)), out;
  }
  mgl_tensor_info tensor(int64_t number) const {
    mgl_tensor_info info{};
    info.size = sizeof info;
    return must(mgl_session_tensor_info(it_, number, &info)), info;
  }
  mgl_tensor_info tensor(const std::string& name) const {
    mgl_tensor_info info{};
    info.size = sizeof info;
    return must(mgl_session_tensor_find(it_, name.c_str(), &info)), info;
  }
  std::vector<float> read(const std::string& name) { return read(name, MGL_VALUE); }
  std::vector<float> gradient(const std::string& name) { return read(name, MGL_GRADIENT); }
  // The session's own memory (mgl_session_tensor_view).
  mgl_tensor_view view(const std::string& name, int kind = MGL_VALUE) {
    mgl_tensor_view out{};
    out.size = sizeof out;
    return must(mgl_session_tensor_view(it_, name.c_str(), kind, &out)), out;
  }
  void write(const std::string& name, const std::vector<float>& values) {
    must(mgl_session_tensor_write(it_, name.c_str(), values.data(), int64_t(values.size())));
  }

 private:
  struct Filler {
    Fill fill;
    std::exception_ptr thrown;
    void ended(mgl_status status) {
      if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
      must(status);
    }
  };
  struct Kept {
    Log log;
    Filler batches;
  };

  static int filled(void* user, mgl_batch* batch) {
    Filler& filler = *static_cast<Filler*>(user);
    try {
      return filler.fill(*batch), 0;
    } catch (...) {
      filler.thrown = std::current_exception();
      return 1;
    }
  }
  static void tell(void* user, int level, const char* line) {
    try {
      static_cast<Kept*>(user)->log(level, line);
    } catch (...) {  // a line that is lost ends no training
    }
  }
  std::vector<float> read(const std::string& name, int kind) {
    std::vector<float> out(size_t(tensor(name).elements));
    must(mgl_session_tensor_read(it_, name.c_str(), kind, out.data(), int64_t(out.size())));
    return out;
  }

  mgl_session* it_ = nullptr;
  std::unique_ptr<Kept> kept_;  // stays where it is when the session moves
};

}  // namespace megalith

#endif
