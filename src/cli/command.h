// Shared by the subcommands: exit codes, output, errors. One file per subcommand.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "io/json.h"
#include "runtime/session.h"
#include "target/target.h"

namespace CLI {
class App;
}

namespace tapml::app {}

namespace tapml::cli {

using namespace app;  // the commands are command lines for app/

// Exit codes of every subcommand (docs/cli.md).
enum ExitCode : int {
  kDone = 0,
  kDifference = 1,
  kBadInput = 2,
  kDefect = 3,
  kPlatform = 4,
  kInterrupted = 130,
};

int exit_code(const Error& error);

// Every subcommand has --json: one document on stdout and nothing else there.
struct Output {
  bool json = false;
  // Prints a line on stdout unless --json.
  void line(const std::string& text) const;
  void text(const std::string& text) const;  // without a line break, flushed
  void document(const Json& json) const;     // only with --json
  // The last line of a command that validates: on stdout, with --json on stderr.
  void last_line(const std::string& text) const;
  // Prints the error on stderr, or as the "error" of a JSON document; returns its exit code.
  int error(const Error& error) const;
  // Prints the error on stderr, for a command that goes on after it.
  void error_text(const Error& error) const;
};

// Adds a subcommand; its options write into a state that `run` captures. `selected` receives the
// function to run if the subcommand is chosen.
using Runner = std::function<int()>;
struct Registration {
  CLI::App& app;
  Runner& selected;
  Output& output;
};

// All subcommands of this program.
void add_commands(Registration registration);

void add_run(Registration registration);
void add_chat(Registration registration);
void add_serve(Registration registration);
void add_web(Registration registration);
void add_embed(Registration registration);
void add_compile(Registration registration);
void add_export(Registration registration);
void add_opt(Registration registration);
void add_exec(Registration registration);
void add_cache(Registration registration);
void add_check_import(Registration registration);
void add_carve(Registration registration);
void add_replay(Registration registration);
void add_suite(Registration registration);
void add_migrate(Registration registration);
void add_localize(Registration registration);
void add_compare(Registration registration);
void add_profile(Registration registration);
void add_eval(Registration registration);
// Work for each device with --measure and with --check (returns whether all passed), on a session
// of the target; null: the option does not exist.
struct DeviceWork {
  void (*measure)(runtime::Session& session, const target::Target& target, const Output& output,
                  Json& json) = nullptr;
  bool (*check)(runtime::Session& session, const target::Target& target, const Output& output,
                Json& json) = nullptr;
  // With --check, prints the last line after `devices` devices; returns the exit code.
  int (*conclude)(int64_t passed, int64_t checks, int64_t devices, const Output& output) = nullptr;
};
void add_devices(Registration registration, const DeviceWork& work);
void add_models(Registration registration);
// `add_tracker` adds the tracker, which the program without the compiler lacks; may be null.
void add_rpc(Registration registration,
             void (*add_tracker)(CLI::App& rpc, const Registration& registration));
void add_tracker(CLI::App& rpc, const Registration& registration);
void add_kernel(Registration registration);
void add_kernel_worker(Registration registration);
void add_fuzz(Registration registration);
void add_fuzz_worker(Registration registration);
void add_help(Registration registration);
void add_completion(Registration registration);

}  // namespace tapml::cli
