// Times in files of other programs.
#pragma once
#include <optional>
#include <string_view>

namespace megalith::report {

// Unix seconds of "1764190000.5", "1764190000500" (milliseconds), "2026-11-27T22:10:05.5Z", "2026-11-27 22:10:05"
// (UTC) or "2026-11-27T22:10:05+01:00". Empty for other texts.
std::optional<double> time_of_text(std::string_view text);

}  // namespace megalith::report
