// An error in a native checkpoint's training state must be reported with name and value.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ckpt/native/checkpoint.h"
#include "exec/cpu/backend.h"
#include "small_run.h"
#include "tests/error_of.h"
#include "tests/harness/thread_ranks.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

using nlohmann::json;

void train(const std::string& dir, int iterations) {
  testing::internal::CaptureStdout();
  const Options o =
      options_for(1, fmt::format("--save {0} --load {0} --save-interval 1 --train-iters {1}", dir, iterations));
  const std::string error = error_of([&] { pretrain(o, *make_cpu_backend(), *join(Place{})); });
  testing::internal::GetCapturedStdout();
  if (!error.empty()) throw Error(error);
}

// Copies the checkpoint `from` with one changed value in its state. Returns the message of a run that resumes from the
// copy.
std::string refusal(const std::string& from, const std::string& pointer, const json& value) {
  const TempFolder folder("stored_state_edited");
  const Checkpoint c = open_checkpoint(from, {});
  Manifest manifest = c.manifest();
  json state = json::parse(manifest.state_json);
  state[json::json_pointer(pointer)] = value;
  manifest.state_json = state.dump();
  std::vector<std::vector<std::byte>> bytes;
  std::vector<SaveTensor> tensors;
  for (const CheckpointTensor& t : c.tensors()) {
    bytes.emplace_back(std::size_t(count(t.shape) * size_of(t.dtype)));
    c.read_block(t.name, Shape(t.shape.size(), 0), t.shape, bytes.back());
    tensors.push_back({t.name, t.shape, t.dtype, bytes.back().data()});
  }
  save_checkpoint(folder.path, manifest, tensors, {});
  const std::string error = error_of([&] { train(folder.path, 2); });
  const std::size_t at = error.find(": its ");
  return at == std::string::npos ? error : error.substr(at + 2);
}

TEST(StoredState, is_refused_by_name_and_value) {
  const TempFolder folder("stored_state");
  train(folder.path, 1);
  const auto with = [&](const char* pointer, const char* value) {
    return refusal(folder.path, pointer, json::parse(value));
  };
  const std::string state = "its training state cannot be read: ", schedule = "its schedule cannot be read: ";
  const std::string count = ": want an integer from 0 to 2^53";
  EXPECT_EQ(with("/optimizer_steps", "null"), state + "optimizer_steps is null" + count);
  EXPECT_EQ(with("/schedule_samples", "-3"), state + "schedule_samples is -3" + count);
  EXPECT_EQ(with("/interval", "null"), state + "losses is missing");
  EXPECT_EQ(with("/interval/nan", "\"x\""), state + "nan is \"x\"" + count);
  EXPECT_EQ(with("/data", "[{\"path\": null}]"), state + "path is null");
  EXPECT_EQ(with("/schedules/lr", "null"), schedule + "lr is null");
  EXPECT_EQ(with("/schedules/lr_decay_style", "7"), schedule + "lr_decay_style is 7");
  EXPECT_EQ(with("/schedules/lr_decay_style", "\"steep\""),
            schedule + "lr_decay_style is 'steep': want constant, linear, cosine, inverse-square-root, WSD");
  EXPECT_EQ(with("/schedules", "{}"), schedule + "lr_decay_style is missing");
}

}  // namespace
}  // namespace megalith
