// What the handles of the C interface stand for.
#pragma once
#include <string>
#include <vector>

#include "base/log_sink.h"
#include "library/call.h"
#include "library/training_session.h"

struct mgl_config {
  std::vector<std::string> words;
};

struct mgl_session {
  megalith::log::Sink sink;
  std::optional<megalith::TrainingSession> it;
};
