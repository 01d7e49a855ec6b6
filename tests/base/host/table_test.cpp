#include "base/host/table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/units.h"

namespace tapml {
namespace {

using Lines = std::vector<std::string>;

const std::vector<TableColumn> kColumns = {
    {.name = "kernel"}, {.name = "calls", .number = true}, {.name = "layers", .below = true}};

TEST(Table, PutsARowOnOneLineIfItFits) {
  EXPECT_EQ(table_lines(kColumns, {{"add_1", "7", "mlp"}, {"matmul_22", "1234567"}}, 40),
            (Lines{"kernel       calls  layers", "add_1            7  mlp", "matmul_22  1234567"}));
}

TEST(Table, ListsGoBelowTheirRowAndAreComplete) {
  const Lines lines =
      table_lines(kColumns, {{"add_1", "7", "layers.0.mlp, layers.1.mlp, layers.2.mlp"}}, 24);
  EXPECT_EQ(lines, (Lines{"kernel  calls", "    layers", "add_1       7", "    layers.0.mlp,",
                          "    layers.1.mlp,", "    layers.2.mlp"}));
}

TEST(Table, ANameThatIsTooLongGetsItsOwnLine) {
  const Lines lines =
      table_lines(kColumns, {{"a_very_long_name_of_a_kernel", "7"}, {"b", "12"}}, 20);
  EXPECT_EQ(lines, (Lines{"kernel  calls", "    layers", "a_very_long_name_of_a_kernel",
                          "            7", "b          12"}));
  for (const std::string& line : lines) {
    if (line[0] == 'a') continue;
    EXPECT_LE(display_width(line), 20u) << line;
  }
}

TEST(Table, WidthsCountVisibleCharacters) {
  const Lines lines =
      table_lines({{.name = "name"}, {.name = "x", .number = true}},
                  {{"größe", "1"}, {"大小", "22"}, {{"red", Style::kRed}, "3"}}, 80, true);
  EXPECT_EQ(lines[1], "größe   1");
  EXPECT_EQ(lines[2], "大小   22");
  EXPECT_EQ(lines[3], "\x1b[31mred\x1b[0m     3");
  EXPECT_EQ(display_width(lines[3]), 9u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
}

TEST(Table, LongTextsAreWrapped) {
  EXPECT_EQ(wrapped("  limits: one, two, three", 14, 4), "  limits: one,\n    two, three");
  EXPECT_EQ(wrapped("averylongwordindeed b", 5), "averylongwordindeed\nb");
  EXPECT_EQ(wrapped("", 5), "");
  EXPECT_EQ(wrapped("a b", 80, 2), "a b");
}

TEST(TextWidth, ComesFromTheEnvironmentWithoutATerminal) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const auto with = [&](const char* columns) {
    setenv("COLUMNS", columns, 1);
    return text_width(pipes[1]);
  };
  EXPECT_EQ(with("132"), 132u);
  for (const char* bad : {"", "0", "-3", "x", "19", "100000"}) EXPECT_EQ(with(bad), 80u) << bad;
  unsetenv("COLUMNS");
  EXPECT_EQ(text_width(pipes[1]), 80u);
  close(pipes[0]);
  close(pipes[1]);
}

TEST(Units, HaveThreeDigits) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(1024), "1.00 KiB");
  EXPECT_EQ(size_text(15360), "15.0 KiB");
  EXPECT_EQ(size_text((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(size_text(int64_t{270} << 20), "270 MiB");
  EXPECT_EQ(size_text(int64_t{1} << 62), "4.00 EiB");
  EXPECT_EQ(time_text(0), "0 s");
  EXPECT_EQ(time_text(2.5e-8), "25.0 ns");
  EXPECT_EQ(time_text(1.234e-5), "12.3 µs");
  EXPECT_EQ(time_text(0.5), "500 ms");
  EXPECT_EQ(time_text(0.9999), "1.00 s");
  EXPECT_EQ(time_text(75), "75.0 s");
}

}  // namespace
}  // namespace tapml
