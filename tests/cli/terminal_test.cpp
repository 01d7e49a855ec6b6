// Live tables on a pseudo terminal.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <termios.h>

#include "support/program.h"
#include "support/terminal_screen.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::TempFolder;
using testing::TerminalScreen;

struct Window {
  unsigned short columns = 100, height = 40;
  std::map<std::string, std::string> environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}};
  std::string interrupt_after;  // Ctrl-C is typed once this text is printed
};

struct TerminalRun {
  int exit_code = -1;
  std::string written;
  TerminalScreen screen;
};

// The program with all three streams on a terminal.
TerminalRun run_on_terminal(const std::vector<std::string>& args, const Window& window) {
  const std::string program = TAPML_PROGRAM;
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  TerminalRun run{.screen = TerminalScreen(window.columns, window.height)};
  winsize size{.ws_row = window.height, .ws_col = window.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    for (const auto& [name, value] : window.environment) setenv(name.c_str(), value.c_str(), 1);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  // Unless NOFLSH is set, Ctrl-C drops pending output, even within an escape sequence.
  termios settings = {};
  if (tcgetattr(terminal, &settings) == 0) {
    settings.c_lflag |= NOFLSH;
    EXPECT_EQ(tcsetattr(terminal, TCSANOW, &settings), 0);
  }
  const auto start = std::chrono::steady_clock::now();
  bool sent = window.interrupt_after.empty();
  for (;;) {
    pollfd wait{.fd = terminal, .events = POLLIN, .revents = 0};
    poll(&wait, 1, 1000);
    char buffer[4096];
    const ssize_t got = wait.revents != 0 ? read(terminal, buffer, sizeof buffer) : 0;
    if (wait.revents != 0 && got <= 0) break;  // the program closed its end
    run.written.append(buffer, static_cast<size_t>(got));
    if (!sent && run.written.find(window.interrupt_after) != std::string::npos) {
      sent = write(terminal, "\x03", 1) == 1;
    }
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(240)) {
      kill(child, SIGKILL);
      ADD_FAILURE() << "no end";
      break;
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.screen.write(run.written);
  EXPECT_TRUE(sent) << run.written;
  return run;
}

int64_t count(const std::string& text, const std::string& part) {
  int64_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

// A carved run of the demo model, which all tests replay.
class TerminalTable : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    const testing::ProgramResult carved = testing::run_program(
        {"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "2", "-o", suite()});
    ASSERT_EQ(carved.exit_code, 0) << carved.all();
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string suite() { return *folder_ / "suite"; }

  static TempFolder* folder_;
};
TempFolder* TerminalTable::folder_ = nullptr;

TEST_F(TerminalTable, RowsChangeTheirStates) {
  const TerminalRun run =
      run_on_terminal({"replay", suite(), "--inject-fault", "slice_:dropped-tail"}, {});
  EXPECT_EQ(run.exit_code, 1) << run.written;
  EXPECT_EQ(run.screen.unknown(), "");
  for (const char* part :
       {"waiting", "\x1b[34mtesting", "\x1b[32mpass", "\x1b[31mmismatch", "] replay: "}) {
    EXPECT_NE(run.written.find(part), std::string::npos) << part << "\n" << run.written;
  }
  // At the end the screen has the plain lines and nothing of the live table.
  const std::string screen = run.screen.text();
  EXPECT_EQ(screen.find("waiting"), std::string::npos) << screen;
  EXPECT_EQ(screen.find("] replay: "), std::string::npos) << screen;
  EXPECT_EQ(count(screen, "\nslice_"), 1) << screen;
  EXPECT_LT(screen.find("replay: differences found"), screen.find("kernel      ")) << screen;
  EXPECT_EQ(run.screen.column(), 0u);
}

TEST_F(TerminalTable, FitsASmallWindowWithoutColors) {
  Window window{.columns = 30, .height = 8};
  window.environment["NO_COLOR"] = "1";
  const TerminalRun run = run_on_terminal({"replay", suite()}, window);
  EXPECT_EQ(run.exit_code, 0) << run.written;
  EXPECT_EQ(run.screen.unknown(), "");
  EXPECT_NE(run.written.find("testing"), std::string::npos);
  EXPECT_NE(run.written.find("... and "), std::string::npos);
  for (char style = '0'; style <= '9'; ++style) {
    EXPECT_EQ(run.written.find(std::string("\x1b[3") + style + "m"), std::string::npos);
  }
  const std::string screen = run.screen.text();
  EXPECT_EQ(count(screen, "testing"), 0) << screen;
  EXPECT_EQ(count(screen, "... and "), 0) << screen;
}

TEST_F(TerminalTable, ADumbTerminalGetsPlainLines) {
  Window window;
  window.environment["TERM"] = "dumb";
  const TerminalRun run =
      run_on_terminal({"replay", suite(), "--kernel", "rms_norm_485247dc"}, window);
  EXPECT_EQ(run.exit_code, 0) << run.written;
  EXPECT_EQ(run.written.find('\x1b'), std::string::npos) << run.written;
  EXPECT_EQ(run.written.find("testing"), std::string::npos) << run.written;
}

TEST_F(TerminalTable, CtrlCKeepsFinishedRows) {
  Window window{.interrupt_after = "pass"};
  const TerminalRun run = run_on_terminal({"replay", suite()}, window);
  EXPECT_EQ(run.exit_code, 130) << run.written;
  const std::string screen = run.screen.text();
  EXPECT_NE(screen.find("pass"), std::string::npos) << screen;
  EXPECT_EQ(screen.find("waiting"), std::string::npos) << screen;
  EXPECT_TRUE(screen.ends_with("\ninterrupted\n")) << screen;
  EXPECT_EQ(run.screen.column(), 0u);
}

TEST_F(TerminalTable, AMigrationShowsItsHybrids) {
  const TerminalRun run =
      run_on_terminal({"migrate", kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                       "Emma was", "--max-tokens", "1", "--validation-tokens", "1"},
                      {});
  EXPECT_EQ(run.exit_code, 0) << run.written;
  EXPECT_EQ(run.screen.unknown(), "");
  for (const char* part : {"waiting", "testing", "in the model", "\x1b[32mmigrated"}) {
    EXPECT_NE(run.written.find(part), std::string::npos) << part;
  }
  const std::string screen = run.screen.text();
  EXPECT_EQ(screen.find("in the model"), std::string::npos) << screen;
  EXPECT_EQ(count(screen, "\nkernel   "), 1) << screen;
}

TEST_F(TerminalTable, SeveralTargetsShareTheRowOfAKernel) {
  const TerminalRun run = run_on_terminal(
      {"migrate", kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--to", "cpu:threads=2",
       "--prompt", "Emma was", "--max-tokens", "1", "--validation-tokens", "1", "--inject-fault",
       "cpu:threads=2/slice_:dropped-tail"},
      {.columns = 160});
  EXPECT_EQ(run.exit_code, 1) << run.written;
  EXPECT_EQ(run.screen.unknown(), "");
  // The state is that of the worse target; the detail shows both.
  for (const char* part : {"\x1b[34mtesting", "cpu:threads=1 migrated, cpu:threads=2 testing",
                           "cpu:threads=1 migrated, cpu:threads=2 migrated", "\x1b[31mmismatch",
                           "cpu:threads=1 migrated, cpu:threads=2 mismatch", " on cpu:threads=2"}) {
    EXPECT_NE(run.written.find(part), std::string::npos) << part;
  }
  const std::string screen = run.screen.text();
  EXPECT_EQ(screen.find("testing"), std::string::npos) << screen;
  EXPECT_NE(screen.find("1 of 2 targets run the whole model."), std::string::npos) << screen;
}

}  // namespace
}  // namespace tapml
