// The subcommands of the program without the compiler: it serves the devices of a computer.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

constexpr const char* kOfTheCompiler[] = {"run",     "embed",  "compile", "opt",
                                          "carve",   "replay", "migrate", "localize",
                                          "profile", "kernel", "cache"};

// Commands of a full build are rejected with the reason, not as unknown words.
void add_absent(const Registration& registration, const std::string& name) {
  auto* command = registration.app.add_subcommand(name)->group("");
  command->allow_extras();
  command->set_help_flag();
  command->callback([registration, name] {
    registration.selected = [name]() -> int {
      throw_user("this program was built without the compiler, which " + name + " is part of",
                 "tapml " + name, "rpc or devices", name,
                 "run it on a machine with a full build; --target cpu@ENDPOINT runs kernels here");
    };
  });
}

}  // namespace

void add_commands(Registration registration) {
  add_devices(registration, {});
  add_rpc(registration, nullptr);
  add_help(registration);
  for (const char* name : kOfTheCompiler) add_absent(registration, name);
}

}  // namespace tapml::cli
