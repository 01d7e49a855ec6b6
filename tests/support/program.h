// Starts the tapml program and keeps its output. Only for tests declared with PROGRAM.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "io/json.h"
#include "support/temp_folder.h"

namespace tapml::testing {

inline const std::string kDemoModel = std::string(TAPML_SOURCE_DIR) + "/models/demo";

struct ProgramOptions {
  std::map<std::string, std::string> environment;  // added to the test's environment
  std::string input;                               // standard input; empty: none
  std::string interrupt_after;           // SIGINT is sent once standard error has this text
  bool interrupt_on_out = false;         // ... or on standard output
  std::function<bool()> interrupt_when;  // or once this returns true
  int signal = SIGINT;                   // the signal to send
  double timeout = 240;                  // seconds, after which the program is killed
};

struct ProgramResult {
  int exit_code = -1;  // 128 + n if signal n ended it
  std::string out, err;

  // All output, for the message of a failed check.
  std::string all() const {
    return "exit code " + std::to_string(exit_code) + "\n--- stdout\n" + out + "\n--- stderr\n" +
           err;
  }
  // The last line of standard output: the verdict of a command that validates.
  std::string last_line() const { return last_line_of(out); }
  static std::string last_line_of(const std::string& text) {
    const size_t end = text.ends_with('\n') ? text.size() - 1 : text.size();
    const size_t begin = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin + 1));
  }
  // Standard output as one JSON document; a failure if it is anything else. A copy: a loop over a
  // part of it needs a variable for the whole.
  Json json() const {
    Result<Json> document = parse_json(out, "stdout");
    if (document) return *document;
    ADD_FAILURE() << document.error().to_string() << "\n" << all();
    return Json();
  }
};

inline ProgramResult run_program(const std::vector<std::string>& args,
                                 const ProgramOptions& options = {}) {
  TempFolder folder;
  const std::string out = folder / "out", err = folder / "err", program = TAPML_PROGRAM;
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  const std::string in = options.input.empty() ? "/dev/null" : folder / "in";
  if (!options.input.empty()) write_bytes(in, options.input);
  pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    int in_file = open(in.c_str(), O_RDONLY);
    int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in_file < 0 || out_file < 0 || err_file < 0) _exit(126);
    if (dup2(in_file, 0) < 0 || dup2(out_file, 1) < 0 || dup2(err_file, 2) < 0) _exit(126);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  bool sent = options.interrupt_after.empty() && !options.interrupt_when;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const std::string& watched = options.interrupt_on_out ? out : err;
    if (!sent && (options.interrupt_when
                      ? options.interrupt_when()
                      : read_bytes(watched).find(options.interrupt_after) != std::string::npos)) {
      sent = true;
      kill(child, options.signal);
    }
    if (std::chrono::duration<double>(Clock::now() - start).count() > options.timeout) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      ADD_FAILURE() << "no end within " << options.timeout << " s";
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_bytes(out);
  result.err = read_bytes(err);
  EXPECT_TRUE(sent) << "never saw \"" << options.interrupt_after << "\"\n" << result.all();
  return result;
}

// The exit code of a command line that tapml printed, run by a shell in `folder`.
inline int run_line(const std::string& folder, const std::string& line) {
  const std::string script = "tapml() { '" + std::string(TAPML_PROGRAM) + "' \"$@\"; }; cd '" +
                             folder + "' && " + line + " >/dev/null 2>&1";
  const int status = std::system(script.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A failure is reported twice: on standard error as text, and as one JSON document. Each of `parts`
// occurs in the message.
inline void expect_failure(std::vector<std::string> args, int exit_code,
                           const std::vector<std::string>& parts,
                           const ProgramOptions& options = {}) {
  ProgramResult plain = run_program(args, options);
  EXPECT_EQ(plain.exit_code, exit_code) << plain.all();
  for (const std::string& part : parts) {
    EXPECT_NE(plain.err.find(part), std::string::npos) << "no \"" << part << "\" in\n"
                                                       << plain.all();
  }
  args.push_back("--json");
  ProgramResult json = run_program(args, options);
  EXPECT_EQ(json.exit_code, exit_code) << json.all();
  Json document = json.json();
  const Json* error = document.find("error");
  ASSERT_NE(error, nullptr) << json.all();
  for (const char* field : {"kind", "message", "where", "expected", "found", "hint"}) {
    EXPECT_NE(error->find(field), nullptr) << "no \"" << field << "\" in\n" << json.all();
  }
  std::string text;
  for (const auto& [name, value] : error->members()) text += value.as_string() + "\n";
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << json.all();
  }
}

// The standard output of a run that must succeed.
inline std::string output_of(const std::vector<std::string>& args) {
  ProgramResult result = run_program(args);
  EXPECT_EQ(result.exit_code, 0) << result.all();
  return std::move(result.out);
}

inline std::vector<int32_t> integers(const Json* array) {
  std::vector<int32_t> values;
  if (array == nullptr) return values;
  for (const Json& item : array->items()) values.push_back(static_cast<int32_t>(item.as_integer()));
  return values;
}

inline std::vector<std::string> strings(const Json* array) {
  std::vector<std::string> values;
  if (array == nullptr) return values;
  for (const Json& item : array->items()) values.push_back(item.as_string());
  return values;
}

// A writable copy of the demo model's folder.
inline void copy_demo_model(const std::string& folder) {
  std::filesystem::copy(kDemoModel, folder, std::filesystem::copy_options::recursive);
}

}  // namespace tapml::testing
