// The objects of the C interface's handles.
#pragma once
#include <string>
#include <vector>

#include "base/log_sink.h"
#include "library/call.h"
#include "library/given_model.h"
#include "library/training_session.h"

struct mgl_config {
  std::vector<std::string> words;
};

struct mgl_session {
  megalith::log::Sink sink;
  std::optional<megalith::TrainingSession> it;
};

namespace megalith {

// own: the caller's model, or null for a GPT.
mgl_status new_session(const mgl_config* config, const mgl_session_options* options, std::shared_ptr<GivenModel> own,
                       mgl_session** out);

}  // namespace megalith
