#include "base/host/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/host/terminal.h"

namespace tapml {
namespace {

struct Screen {
  std::string text;
  double time = 0;

  ProgressOptions options(ProgressMode mode, int width = 80) {
    return {.mode = mode,
            .width = width,
            .write = [this](std::string_view piece) { text += piece; },
            .now = [this] { return time; },
            .ticker = false};
  }
};

void run_phase(Progress& progress, Screen& screen) {
  progress.begin("migrate", 2);
  screen.time = 1.5;
  progress.step("matmul_1234");
  progress.note("warning: slow");
  screen.time = 3.25;
  progress.step("add_5678");
  progress.end("2 kernels equal");
}

TEST(ProgressTest, PlainWritesOneLineAPhase) {
  Screen screen;
  Progress progress(screen.options(ProgressMode::kPlain));
  run_phase(progress, screen);
  EXPECT_EQ(screen.text, "warning: slow\nmigrate: 2 kernels equal (3.2 s)\n");
}

TEST(ProgressTest, QuietWritesNothing) {
  Screen screen;
  Progress progress(screen.options(ProgressMode::kQuiet));
  run_phase(progress, screen);
  EXPECT_EQ(screen.text, "");
}

TEST(ProgressTest, LiveRedrawsItsLine) {
  Screen screen;
  Progress progress(screen.options(ProgressMode::kLive));
  run_phase(progress, screen);
  const std::string erase = "\r\x1b[K";
  EXPECT_EQ(screen.text, erase + "[0/2] migrate ... 0.0 s" +                   //
                             erase + "[1/2] migrate: matmul_1234 ... 1.5 s" +  //
                             erase + "warning: slow\n" +                       //
                             erase + "[1/2] migrate: matmul_1234 ... 1.5 s" +  //
                             erase + "[2/2] migrate: add_5678 ... 3.2 s" +     //
                             erase + "migrate: 2 kernels equal (3.2 s)\n");
}

TEST(ProgressTest, LiveLineFitsTheTerminal) {
  Screen screen;
  Progress progress(screen.options(ProgressMode::kLive, 20));
  progress.begin("compile");
  progress.step("a kernel with a very long name");
  size_t last = screen.text.rfind("\x1b[K");
  EXPECT_EQ(screen.text.substr(last + 3), "[1] compi ... 0.0 s");
}

TEST(ProgressTest, UnfinishedPhaseLeavesACleanLine) {
  Screen screen;
  {
    Progress progress(screen.options(ProgressMode::kLive));
    progress.begin("load");
  }
  EXPECT_TRUE(screen.text.ends_with("load ... 0.0 s\r\x1b[K"));
}

TEST(ProgressTest, BeginEndsThePhaseBefore) {
  Screen screen;
  Progress progress(screen.options(ProgressMode::kPlain));
  progress.begin("load");
  progress.begin("compile");
  progress.end();
  progress.end();
  EXPECT_EQ(screen.text, "load: done (0.0 s)\ncompile: done (0.0 s)\n");
}

TEST(TerminalTest, StylesOnlyWhenEnabled) {
  EXPECT_EQ(styled("ok", Style::kGreen, false), "ok");
  EXPECT_EQ(styled("ok", Style::kGreen, true), "\x1b[32mok\x1b[0m");
  EXPECT_EQ(display_width("h\xc3\xa9llo"), 5u);
}

TEST(TerminalTest, NoColorWins) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(terminal_has_colors(2));
  unsetenv("NO_COLOR");
  EXPECT_FALSE(is_terminal(-1));
  EXPECT_EQ(terminal_width(-1), 80);
}

}  // namespace
}  // namespace tapml
