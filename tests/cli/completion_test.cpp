// tapml completion: the script in its shell, with the shell's own functions replaced.
#include <gtest/gtest.h>

#include "io/host/command.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::run_program;
using testing::TempFolder;

// What a shell offers after `words`, of which the last is incomplete.
class Completion : public ::testing::Test {
 protected:
  std::string offered(const std::string& shell, const std::string& words) {
    const std::string script = folder_ / "script";
    unwrap(write_text_atomic(script, run_program({"completion", shell}).out));
    const std::string code =
        shell == "bash"
            ? "source " + script + "; COMP_WORDS=(" + words +
                  "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tapml; echo ${COMPREPLY[*]}"
            : "compdef() { :; }; _files() { print -n files }; source " + script +
                  "; _describe() { [[ $1 == -o ]] && shift 2 || shift; for one in ${(P)1}; do "
                  "[[ ${one%%:*} == ${words[CURRENT]}* ]] && print -n -- ${one%%:*}' '; done }; "
                  "compadd() { for one in $@; do [[ $one == ${words[CURRENT]}* ]] && "
                  "print -n -- $one' '; done }; () { local -a words=(" +
                  words + "); local CURRENT=$#words; _tapml }; true";
    const std::vector<std::string> command =
        shell == "bash" ? std::vector<std::string>{"bash", "--norc", "-c", code}
                        : std::vector<std::string>{"zsh", "-f", "-c", code};
    const CommandResult result = unwrap(run_command(command, std::chrono::seconds(20)));
    EXPECT_EQ(result.exit_code, 0) << result.output;
    const size_t end = result.output.find_last_not_of(" \n");
    return end == std::string::npos ? "" : result.output.substr(0, end + 1);
  }
  TempFolder folder_;
};

TEST_F(Completion, OfCommandsOptionsAndPlatforms) {
  for (const char* shell : {"bash", "zsh"}) {
    SCOPED_TRACE(shell);
    EXPECT_EQ(offered(shell, "tapml mig"), "migrate");
    EXPECT_EQ(offered(shell, "tapml check"), "check-import");
    EXPECT_EQ(offered(shell, "tapml check-import --pr"), "--prompt");
    EXPECT_EQ(offered(shell, "tapml rpc ''"), "serve status tracker tracker-status");
    EXPECT_EQ(offered(shell, "tapml rpc serve --li"), "--listen");
    EXPECT_EQ(offered(shell, "tapml suite verify --mo"), "--model");
    EXPECT_EQ(offered(shell, "tapml run model --target v"), "vulkan");
    EXPECT_EQ(offered(shell, "tapml kernel-work"), "") << "not for people";
  }
  EXPECT_EQ(offered("zsh", "tapml run mod"), "files");
}

TEST_F(Completion, OtherShellsAreRefused) {
  testing::expect_failure({"completion", "fish"}, 2, {"SHELL", "fish", "bash"});
  testing::expect_failure({"completion"}, 2, {"SHELL"});
}

}  // namespace
}  // namespace tapml
