// The C interface for configs, versions and errors.
#include <algorithm>
#include <memory>
#include <string_view>

#include "library/handles.h"

namespace megalith {

std::string& last_error() {
  static thread_local std::string it;
  return it;
}
Handles<mgl_config>& configs() {
  // never destroyed, because a caller's own globals may free handles after this file's globals are gone
  static auto* it = new Handles<mgl_config>;
  return *it;
}
Handles<mgl_session>& sessions() {
  static auto* it = new Handles<mgl_session>;
  return *it;
}

}  // namespace megalith

using namespace megalith;

extern "C" {

const char* mgl_version(void) { return MEGALITH_VERSION; }
int mgl_api_version(void) { return MGL_API_VERSION; }
const char* mgl_last_error(void) { return last_error().c_str(); }

mgl_status mgl_config_new(mgl_config** out) {
  return call([&] {
    want(out != nullptr, "the place for the config is null");
    auto made = std::make_unique<mgl_config>();
    configs().add(made.get());
    *out = made.release();
  });
}

mgl_status mgl_config_set(mgl_config* config, const char* name, const char* value) {
  return call([&] {
    want_alive(config);
    want(name != nullptr && *name != 0 && *name != '-',
         "a flag's name is null, empty or begins with '-': give it bare");
    config->words.push_back(std::string("--") + name);
    if (value) config->words.push_back(value);
  });
}

mgl_status mgl_config_parse(mgl_config* config, int argc, const char* const* argv) {
  return call([&] {
    want_alive(config);
    want(argc >= 0 && (argc == 0 || argv != nullptr), "{} words, or a null list", argc);
    want(std::none_of(argv, argv + argc, [](const char* word) { return word == nullptr; }), "a word is null");
    config->words.insert(config->words.end(), argv, argv + argc);
  });
}

mgl_status mgl_config_load_yaml(mgl_config* config, const char* path) {
  return call([&] {
    want_alive(config);
    want(path != nullptr, "the path is null");
    config->words.insert(config->words.end(), {"--config", path});
  });
}

mgl_status mgl_config_free(mgl_config* config) {
  return call([&] {
    if (!config) return;
    want(configs().remove(config), "the config was freed already, or is none");
    delete config;
  });
}

}  // extern "C"
