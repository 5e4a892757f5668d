// How little of base/log.h is wanted.
#pragma once

namespace megalith::log {

void silence_warnings();  // warn() prints nothing from here on

}  // namespace megalith::log
