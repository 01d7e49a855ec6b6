// Tasks whose answer is a Python program, which tests judge.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/host/confined_program.h"
#include "io/json_reader.h"
#include "topdown/results/evaluation.h"

namespace tapml::topdown {

struct ProgramTask {
  std::string prompt;  // what the model continues
  std::string begin;   // what the program begins with, before the model's text
  std::string setup;   // what precedes the tests
  std::string tests;   // fail by an exception
  std::string name;    // of the function that is tested; may be empty
  // The task in words, for a chat, where it is not the beginning of the program.
  std::string request;
};

// Reads `kind` "program", and lines of published files: of HumanEval and HumanEval+ (`prompt`,
// `test`, `entry_point`), and of MBPP and MBPP+ (`text` or `prompt`, `test_list`).
bool is_published_program(const JsonObjectReader& reader);
Result<ProgramTask> read_program_task(const JsonObjectReader& reader);

// Texts at which a continued program ends: the beginning of what the task did not ask for.
std::vector<std::string> program_stops(const ProgramTask& task);
// What to say in a chat, so that the answer has a block of code.
std::string program_request(const ProgramTask& task);
// The code of an answer in a chat: its first block of code that defines the function, else its
// first one, else all of it; without thoughts.
std::string code_of_answer(const std::string& answer, const std::string& name);

// How programs are run.
struct ProgramOptions {
  std::string python = "python3";  // interpreter, found on PATH
  int64_t max_tokens = 512;        // of each answer
  bool chat = false;               // by the model's chat template
  ProgramLimits limits;
};

class ProgramRunner {
 public:
  // PlatformError if there is no such interpreter, or if it cannot run confined; UserError for one
  // that is no Python 3.
  static Result<ProgramRunner> create(const ProgramOptions& options,
                                      std::function<bool()> cancelled = {});

  // Runs the program that `code` is for the task. PlatformError as run_confined().
  Result<ProgramOutcome> run(const ProgramTask& task, const std::string& code) const;

 private:
  ProgramRunner() = default;

  std::string python_;
  ProgramLimits limits_;
  std::function<bool()> cancelled_;
};

}  // namespace tapml::topdown
