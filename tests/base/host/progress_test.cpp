#include "base/host/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

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
                             erase + "[2/2] migrate: add_5678 ... 3.2 s, about 3 s left" + erase +
                             "migrate: 2 kernels equal (3.2 s)\n");
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

TEST(ProgressTest, PlainWritesALineEveryTenSecondsOfAPhase) {
  Screen screen;
  Progress progress(screen.options(ProgressMode::kPlain));
  progress.begin("migrate", 4);
  progress.step("matmul_1234");
  for (screen.time = 0; screen.time < 9.9; screen.time += 0.25) progress.tick();
  EXPECT_EQ(screen.text, "");
  screen.time = 10;
  progress.tick();
  progress.tick();
  EXPECT_EQ(screen.text, "migrate: 1 of 4, matmul_1234, 10.0 s\n");
  screen.text.clear();
  // A step that arrives when a line is due is shown on that line.
  screen.time = 20;
  progress.step("add_5678");
  EXPECT_EQ(screen.text, "migrate: 2 of 4, add_5678, 20.0 s, about 60 s left\n");
  screen.text.clear();
  progress.work({.what = "reference", .done = 34, .total = 68, .unit = "kernels"});
  screen.time = 30;
  progress.tick();
  EXPECT_EQ(screen.text,
            "migrate: 2 of 4, add_5678, reference 34 of 68 kernels, 30.0 s, about 50 s left\n");
  screen.text.clear();
  progress.end("2 kernels");
  screen.time = 60;
  progress.tick();  // between two phases nothing is printed
  progress.begin("run");
  screen.time = 69;
  progress.tick();
  EXPECT_EQ(screen.text, "migrate: 2 kernels (30.0 s)\n");
}

TEST(ProgressTest, PlainCountsTheWorkOfAPhaseWithoutSteps) {
  Screen screen;
  Progress progress(screen.options(ProgressMode::kPlain));
  const WorkWatcher watcher = progress.watcher();
  progress.begin("prefill");
  watcher({.what = "prefill", .done = 512, .total = 2048, .unit = "tokens"});
  screen.time = 10;
  progress.tick();
  // The next piece of work, whose time starts at its own begin.
  watcher({.what = "send", .done = 0, .total = 64 << 20, .unit = "bytes"});
  screen.time = 20;
  watcher({.what = "send", .done = 16 << 20, .total = 64 << 20, .unit = "bytes"});
  progress.tick();
  watcher({.what = "send", .done = 64 << 20, .total = 64 << 20, .unit = "bytes"});
  watcher({.what = "upload", .done = 0, .total = 0, .unit = "bytes"});  // empty work: it has ended
  screen.time = 4030;
  progress.tick();
  EXPECT_EQ(screen.text,
            "prefill: prefill 512 of 2048 tokens, 10.0 s, about 30 s left\n"
            "prefill: send 16 of 64 MiB, 20.0 s, about 30 s left\n"
            "prefill: 4030.0 s\n");
}

TEST(ProgressTest, LongEstimatesAreRounded) {
  Screen screen;
  Progress progress(screen.options(ProgressMode::kPlain));
  progress.begin("check");
  screen.time = 10;
  progress.work({.what = "reference", .done = 0, .total = 100, .unit = "kernels"});
  screen.time = 20;
  progress.work({.what = "reference", .done = 4, .total = 100, .unit = "kernels"});
  progress.tick();
  screen.time = 400;
  progress.work({.what = "reference", .done = 5, .total = 100, .unit = "kernels"});
  progress.tick();
  EXPECT_EQ(screen.text,
            "check: reference 4 of 100 kernels, 20.0 s, about 4 min left\n"
            "check: reference 5 of 100 kernels, 400.0 s, about 2 h left\n");
}

TEST(ProgressTest, LiveLineShowsCountsAndEstimatesIfTheyFit) {
  for (const int width : {80, 50}) {
    Screen screen;
    Progress progress(screen.options(ProgressMode::kLive, width));
    progress.begin("check");
    progress.work({.what = "reference", .done = 1, .total = 4, .unit = "kernels"});
    const size_t before = screen.text.size();
    screen.time = 3;
    progress.tick();
    EXPECT_EQ(screen.text.substr(before),
              std::string("\r\x1b[Kcheck, reference 1 of 4 kernels ... 3.0 s") +
                  (width == 80 ? ", about 9 s left" : ""));
  }
}

TEST(ProgressTest, PatienceHidesShortPhases) {
  for (const ProgressMode mode : {ProgressMode::kPlain, ProgressMode::kLive}) {
    Screen screen;
    ProgressOptions options = screen.options(mode);
    options.patience = 2;
    Progress progress(std::move(options));
    progress.begin("compile");
    screen.time = 1.9;
    progress.tick();
    progress.begin("prefill");
    EXPECT_EQ(screen.text, "");
    screen.time = 4;
    progress.tick();
    EXPECT_EQ(screen.text, mode == ProgressMode::kLive ? "\r\x1b[Kprefill ... 2.1 s" : "");
    screen.text.clear();
    progress.end();
    EXPECT_TRUE(screen.text.ends_with("prefill: done (2.1 s)\n")) << screen.text;
  }
}

TEST(ProgressTest, ATickerWritesWithoutAnyStep) {
  std::mutex mutex;
  std::string text;
  {
    ProgressOptions options;
    options.mode = ProgressMode::kPlain;
    options.every = 0.05;
    options.write = [&](std::string_view piece) {
      const std::lock_guard lock(mutex);
      text += piece;
    };
    Progress progress(std::move(options));
    progress.begin("load");
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::lock_guard lock(mutex);
      if (!text.empty()) break;
    }
  }
  EXPECT_TRUE(text.starts_with("load: ")) << text;
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
