#include "base/parse_json.h"

namespace megalith {

template nlohmann::json parse_json(std::string_view);
template nlohmann::ordered_json parse_json(std::string_view);

}  // namespace megalith
