#include "settings/recipe_options.h"

#include "settings/megatron_flags.h"

namespace megalith {

Options read_options_over(const config::Under& under, int argc, const char* const* argv) {
  Options options;
  config::FieldList fields = config::fields_of(options);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  take_parsed(options, config::parse_over(under, fields, words, megatron_flags()), argc > 0 ? argv[0] : "");
  return options;
}

std::vector<ExplainedSetting> explain(const config::Under& under, std::span<const std::string> words, Options settled) {
  Options fresh;
  config::FieldList fields = config::fields_of(settled), defaults = config::fields_of(fresh);
  config::FieldList index = config::fields_of(fresh);
  const auto sources = config::origins(under, index, words, megatron_flags());
  std::vector<ExplainedSetting> out;
  for (const config::Field& field : fields.all()) {
    const auto found = sources.find(field.name);
    const bool same = field.values() == defaults.find(field.name)->values();
    const bool taken = found != sources.end() && settled.given.has(field.name);  // not converted to another unit
    const std::string unset = same ? "default" : "derived";
    out.push_back({field.name, field.text(), taken ? found->second : unset});
  }
  return out;
}

}  // namespace megalith
