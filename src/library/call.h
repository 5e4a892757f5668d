// The boundary of the C interface: no exception leaves it, and it uses no handle that is not alive.
#pragma once
#include <cstring>
#include <exception>
#include <mutex>
#include <set>
#include <string>

#include "base/check.h"
#include "base/one_line.h"
#include "comm/on_all_ranks.h"
#include "megalith/megalith.h"

struct mgl_graph;

namespace megalith {

std::string& last_error();  // of the calling thread

// The handles that callers hold. They are looked up, because reading a freed one would be undefined.
template <class T>
class Handles {
 public:
  T* add(T* it) {
    const std::lock_guard lock(mutex_);
    return *all_.insert(it).first;
  }
  bool has(const T* it) {
    const std::lock_guard lock(mutex_);
    return all_.contains(const_cast<T*>(it));
  }
  bool remove(T* it) {
    const std::lock_guard lock(mutex_);
    return all_.erase(it) > 0;
  }

 private:
  std::mutex mutex_;
  std::set<T*> all_;
};
Handles<mgl_config>& configs();
Handles<mgl_session>& sessions();
Handles<mgl_graph>& graphs();

struct BadArgument : Error {
  using Error::Error;
};

template <class... A>
void want(bool ok, fmt::format_string<A...> text, A&&... args) {
  if (!ok) throw BadArgument(fmt::format(text, std::forward<A>(args)...));
}

inline void want_alive(const mgl_config* it) { want(configs().has(it), "the config is null, or was freed"); }
inline void want_alive(const mgl_session* it) { want(sessions().has(it), "the session is null, or was freed"); }

// Fills a caller's struct as far as its size allows. `least`: the size of the struct's first version.
template <class S>
void give(S* to, const S& full, size_t least) {
  want(to->size >= least, "a struct's size is {}: set it to sizeof of the struct, {} or more", to->size, least);
  const size_t size = to->size;
  std::memcpy(to, &full, std::min(size, sizeof(S)));
  to->size = size;
}

template <class F>
mgl_status call(F&& f) noexcept {
  try {
    f();
    return MGL_OK;
  } catch (const BadArgument& e) {
    last_error() = e.what();
    return MGL_BAD_ARGUMENT;
  } catch (const ReportedByOtherRank& e) {
    last_error() = fmt::format("another rank failed: {}", e.what());
    return MGL_ERROR;
  } catch (const std::exception& e) {
    last_error() = one_line(e);
    return MGL_ERROR;
  } catch (...) {
    last_error() = "an unknown error: please report it";
    return MGL_ERROR;
  }
}

}  // namespace megalith
