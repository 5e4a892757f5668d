#include "resume/loss_scale_json.h"

#include <cmath>

#include "base/json_field.h"

namespace megalith {

using nlohmann::json;

json to_json(const quant::LossScale& s) {
  return {{"scale", s.scale}, {"growth_tracker", s.clean}, {"hysteresis_tracker", s.left}};
}

quant::LossScale read_loss_scale(const json& j) {
  quant::LossScale out({});
  out.scale = float(field_as<double>(j, "scale"));
  const auto whole = [&](const char* name) {
    const json& n = field(j, name);
    const double value = n.is_number_integer() ? n.get<double>() : std::nan("");
    check(std::abs(value) < 0x1p31, "{} is {}: want a whole number of 32 bits", name, shown(n));
    return i32(value);
  };
  out.clean = whole("growth_tracker"), out.left = whole("hysteresis_tracker");
  check(std::isfinite(out.scale) && out.scale > 0, "its loss scale is {}: want a positive number", out.scale);
  return out;
}

}  // namespace megalith
