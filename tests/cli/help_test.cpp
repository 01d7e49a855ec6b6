// --help, tapml help, and the tables of docs/cli.md that it prints.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/program.h"

namespace tapml {
namespace {

using testing::run_program;

const std::string kPage = std::string(TAPML_SOURCE_DIR) + "/docs/cli.md";

std::string markdown_of(const std::string& command) {
  std::vector<std::string> words = {"help", "--markdown"};
  std::istringstream in(command);
  for (std::string word; in >> word;) words.push_back(word);
  return run_program(words).out;
}

// "tapml rpc serve" of "<!-- options: tapml rpc serve -->".
std::string marked_command(const std::string& line) {
  constexpr std::string_view kBegin = "<!-- options: tapml ", kEnd = " -->";
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) return "";
  return line.substr(kBegin.size(), line.size() - kBegin.size() - kEnd.size());
}

// The page, with each table replaced by the one that the program prints now.
std::string page_with_tables(const std::string& page) {
  std::istringstream in(page);
  std::string out;
  bool in_table = false;
  for (std::string line; std::getline(in, line);) {
    if (in_table && line.starts_with("|")) continue;
    in_table = false;
    out += line + "\n";
    const std::string command = marked_command(line);
    if (command.empty()) continue;
    const std::string printed = markdown_of(command);
    const size_t table = printed.find("| option");
    out += printed.substr(table, printed.find("\n\n", table) + 1 - table);
    in_table = true;
  }
  return out;
}

TEST(Help, ThePageHasTheTablesThatTheProgramPrints) {
  const std::string page = testing::read_bytes(kPage);
  const std::string current = page_with_tables(page);
  if (std::getenv("TAPML_UPDATE_DOCS")) std::ofstream(kPage) << current;
  EXPECT_EQ(current, std::getenv("TAPML_UPDATE_DOCS") ? current : page)
      << "TAPML_UPDATE_DOCS=1 writes the tables of docs/cli.md anew";
  // Every command has its table.
  std::istringstream all(markdown_of(""));
  for (std::string line; std::getline(all, line);) {
    if (!line.starts_with("### `tapml ")) continue;
    const std::string command = line.substr(11, line.size() - 12);
    EXPECT_NE(page.find("<!-- options: tapml " + command + " -->"), std::string::npos) << command;
  }
}

TEST(Help, EveryOptionHasItsGroupAndEveryValueItsName) {
  const std::string all = markdown_of("");
  EXPECT_EQ(all.find("**Options**"), std::string::npos) << all;
  // A flag has no value, and every option with a default has one.
  for (const char* option : {"`--json`", "`--prompt TEXT`", "`--target TARGET`", "`--seed SEED`",
                             "`-o, --output PATH`", "`--order execution\\|cost\\|risk`"}) {
    EXPECT_NE(all.find(option), std::string::npos) << option;
  }
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `--") || line.find("` |  |") != std::string::npos) continue;
    if (line.find("| required |") != std::string::npos) continue;
    EXPECT_NE(line.substr(3, line.find("` |") - 3).find(' '), std::string::npos)
        << "an option with a default has no name for its value: " << line;
  }
}

TEST(Help, GroupsComeInOrderWithDefaults) {
  const std::string help = run_program({"migrate", "--help"}).out;
  size_t at = 0;
  for (const char* part :
       {"Usage: tapml migrate [OPTIONS] MODEL", "Arguments:\n  MODEL", "Input:\n", "--prompt TEXT",
        "--text TEXT", "Sampling:\n", "Target:\n", "--from TARGET", "(default: cpu)", "--to TARGET",
        "(default: opencl)", "Output:\n", "Limits:\n", "Advanced:\n", "--order execution|cost|risk",
        "Example: tapml migrate"}) {
    const size_t next = help.find(part, at);
    ASSERT_NE(next, std::string::npos) << part << " in\n" << help;
    at = next;
  }
}

TEST(Help, LinesFitTheWidth) {
  for (const char* command : {"run", "migrate", "compile", "localize", "suite", "rpc"}) {
    std::istringstream in(run_program({command, "--help"}).out);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("Example:")) continue;
      EXPECT_LE(line.size(), 80u) << command << ": " << line;
    }
  }
}

TEST(Help, EqualsTheOutputOfTheOption) {
  const std::vector<std::vector<std::string>> commands = {
      {"run"}, {"rpc"}, {"rpc", "serve"}, {"suite", "verify"}, {"completion"}};
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> help = command, option = command;
    help.insert(help.begin(), "help");
    option.emplace_back("--help");
    const testing::ProgramResult result = run_program(help);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    EXPECT_EQ(result.out, run_program(option).out);
  }
  EXPECT_EQ(run_program({"help"}).out, run_program({"--help"}).out);
  testing::expect_failure({"help", "migarte"}, 2, {"migarte", "did you mean 'migrate'?"});
  testing::expect_failure({"help", "rpc", "run"}, 2,
                          {"tapml rpc", "serve, status, tracker or tracker-status"});
  testing::expect_failure({"help", "run", "x"}, 2, {"tapml run", "no further word"});
}

}  // namespace
}  // namespace tapml
