// The subcommands. Each gets its own words (argv[0] is its name) and returns the process's exit code. It throws
// errors.
#pragma once

namespace megalith {

int command_pretrain_gpt(int argc, const char* const* argv);
int command_pretrain_bert(int argc, const char* const* argv);
int command_pretrain_t5(int argc, const char* const* argv);
int command_pretrain_retro(int argc, const char* const* argv);
int command_retro(int argc, const char* const* argv);
int command_preprocess_data(int argc, const char* const* argv);
int command_merge_datasets(int argc, const char* const* argv);
int command_generate(int argc, const char* const* argv);
int command_evaluate(int argc, const char* const* argv);
int command_convert(int argc, const char* const* argv);
int command_inspect(int argc, const char* const* argv);
int command_blame(int argc, const char* const* argv);
int command_plan(int argc, const char* const* argv);
int command_calibrate(int argc, const char* const* argv);
int command_launch(int argc, const char* const* argv);
int command_report(int argc, const char* const* argv);
int command_compare(int argc, const char* const* argv);
int command_submit(int argc, const char* const* argv);
int command_recipes(int argc, const char* const* argv);
int command_flags(int argc, const char* const* argv);
int command_completion(int argc, const char* const* argv);
int command_manual(int argc, const char* const* argv);

}  // namespace megalith
