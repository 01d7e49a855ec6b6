// The rows above a live progress line, as a terminal shows them.
#include "base/host/progress_rows.h"

#include <gtest/gtest.h>

#include "base/host/progress.h"
#include "support/terminal_screen.h"

namespace tapml {
namespace {

using testing::TerminalScreen;

struct Terminal {
  TerminalScreen screen;
  std::string written;
  std::pair<int, int> size;
  double time = 0;

  explicit Terminal(int columns = 60, int height = 24)
      : screen(static_cast<size_t>(columns), static_cast<size_t>(height)), size(columns, height) {}
  ProgressOptions options(bool colors = false) {
    return {.mode = ProgressMode::kLive,
            .write =
                [this](std::string_view piece) {
                  written += piece;
                  screen.write(piece);
                },
            .now = [this] { return time; },
            .ticker = false,
            .colors = colors,
            .size = [this] { return size; }};
  }
};

ProgressRow waiting(const std::string& name) { return {.name = name, .state = "waiting"}; }
ProgressRow ended(const std::string& name, bool good) {
  return {.name = name,
          .state = good ? "pass" : "mismatch",
          .detail = "0.1 of its bound",
          .style = good ? Style::kGreen : Style::kRed,
          .started = true,
          .ended = true,
          .failed = !good};
}
ProgressRow testing_row(const std::string& name) {
  return {.name = name, .state = "testing", .started = true};
}

std::vector<ProgressRow> many(size_t count, size_t under_way) {
  std::vector<ProgressRow> rows;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "kernel_" + std::to_string(i);
    rows.push_back(i < under_way    ? ended(name, i != 2)
                   : i == under_way ? testing_row(name)
                                    : waiting(name));
  }
  return rows;
}

TEST(ProgressRows, ChangeInPlace) {
  Terminal terminal;
  Progress progress(terminal.options());
  progress.begin("migrate", 2);
  progress.set_rows({waiting("matmul_1"), waiting("add_23")});
  progress.set_row(0, testing_row("matmul_1"));
  progress.step("matmul_1");
  EXPECT_EQ(terminal.screen.text(),
            "matmul_1 testing\nadd_23   waiting\n[1/2] migrate: matmul_1 ... 0.0 s\n");
  progress.set_row(0, ended("matmul_1", false));
  progress.set_row(7, ended("nobody", true));
  EXPECT_EQ(terminal.screen.text(),
            "matmul_1 mismatch       0.1 of its bound\nadd_23   waiting\n"
            "[1/2] migrate: matmul_1 ... 0.0 s\n");
  // The rows remain across phases, below the lines of the finished phases.
  progress.end("2 kernels");
  EXPECT_EQ(terminal.screen.text(), "migrate: 2 kernels (0.0 s)\n");
  progress.begin("run");
  EXPECT_EQ(terminal.screen.text(),
            "migrate: 2 kernels (0.0 s)\nmatmul_1 mismatch       0.1 of its bound\n"
            "add_23   waiting\nrun ... 0.0 s\n");
  progress.note("warning: slow");
  progress.finish();
  EXPECT_EQ(terminal.screen.text(),
            "migrate: 2 kernels (0.0 s)\nwarning: slow\nrun: done (0.0 s)\n");
  EXPECT_EQ(terminal.screen.column(), 0u);
  EXPECT_EQ(terminal.screen.unknown(), "");
}

TEST(ProgressRows, FailedWorkKeepsItsFinishedRows) {
  Terminal terminal;
  {
    Progress progress(terminal.options());
    progress.begin("replay", 3);
    progress.set_rows({ended("a_1", true), testing_row("b_2"), waiting("c_3")});
  }
  EXPECT_EQ(terminal.screen.text(), "a_1 pass           0.1 of its bound\nb_2 testing\n");
  EXPECT_EQ(terminal.screen.column(), 0u);
}

TEST(ProgressRows, ColorsOnlyWhereTheTerminalHasThem) {
  for (bool colors : {false, true}) {
    Terminal terminal;
    Progress progress(terminal.options(colors));
    progress.begin("replay", 1);
    progress.set_rows({ended("a_1", true), ended("b_2", false)});
    EXPECT_EQ(terminal.written.find("\x1b[32mpass") != std::string::npos, colors);
    EXPECT_EQ(terminal.written.find("\x1b[31mmismatch") != std::string::npos, colors);
    EXPECT_EQ(terminal.screen.text(),
              "a_1 pass           0.1 of its bound\nb_2 mismatch       0.1 of its bound\n"
              "[0/1] replay ... 0.0 s\n");
  }
}

TEST(ProgressRows, FitNarrowWindows) {
  for (size_t columns : {1, 2, 5, 10, 16, 17, 24, 30, 31, 40, 200}) {
    for (const ProgressLine& line : row_lines(many(6, 3), columns, 20, false)) {
      EXPECT_LE(line.width, std::max<size_t>(columns - 1, 1)) << columns << ": " << line.text;
      EXPECT_EQ(line.width, display_width(line.text)) << columns;
    }
  }
  // The detail is cut first, the state last.
  EXPECT_EQ(row_lines({ended("kernel_0", false)}, 24, 9, false)[0].text, "kernel_0 mismatch      ");
  EXPECT_EQ(row_lines({ended("a_long_name_indeed", false)}, 21, 9, false)[0].text,
            "a_longmismatch      ");
  EXPECT_EQ(row_lines({ended("größe_ß", true)}, 100, 9, false)[0].text,
            "größe_ß pass           0.1 of its bound");
}

TEST(ProgressRows, LowWindowsShowWhatMatters) {
  EXPECT_EQ(row_lines(many(28, 20), 80, 28, false).size(), 28u);
  std::string text;
  const std::vector<ProgressLine> lines = row_lines(many(28, 20), 80, 8, false);
  EXPECT_EQ(lines.size(), 8u);
  for (const ProgressLine& line : lines) text += line.text + "\n";
  for (const char* part : {"kernel_2 ", "mismatch", "kernel_19", "kernel_20", "testing",
                           "kernel_21", "... and 21 more\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("kernel_27"), std::string::npos) << text;
  EXPECT_EQ(row_lines(many(28, 20), 80, 1, false).size(), 1u);
  EXPECT_EQ(row_lines(many(28, 20), 80, 0, false).size(), 0u);
}

TEST(ProgressRows, NeverScrollTheWindow) {
  for (int height : {1, 2, 3, 5, 12}) {
    Terminal terminal(40, height);
    Progress progress(terminal.options());
    progress.begin("migrate", 28);
    for (size_t i = 0; i < 28; ++i) progress.set_rows(many(28, i));
    progress.finish();
    EXPECT_EQ(terminal.screen.text(), "migrate: done (0.0 s)\n") << height;
  }
}

TEST(ProgressRows, FollowWindowResizes) {
  Terminal terminal(60, 24);
  Progress progress(terminal.options());
  progress.begin("migrate", 3);
  progress.set_rows(many(12, 4));
  terminal.size = {60, 6};
  progress.set_rows(many(12, 5));
  EXPECT_EQ(terminal.screen.text().find("kernel_0 "), std::string::npos);
  terminal.size = {60, 24};
  progress.set_rows(many(12, 6));
  EXPECT_EQ(terminal.screen.text().find("kernel_0 "), 0u);
  progress.finish();
  EXPECT_EQ(terminal.screen.text(), "migrate: done (0.0 s)\n");
}

}  // namespace
}  // namespace tapml
