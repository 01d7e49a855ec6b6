#include "topdown/evaluate/program_task.h"

#include <algorithm>
#include <optional>

#include "base/line_diff.h"
#include "io/host/command.h"

namespace tapml::topdown {

namespace {

// Written by the last line of a program: one that ends before its tests has not passed them.
constexpr const char* kEndMark = "tapml: the tests are over";
constexpr std::chrono::seconds kLongestQuestion{30};

Result<std::string> lines_of(const JsonObjectReader& reader, std::string_view key) {
  if (!reader.has(key)) return std::string();
  TAPML_ASSIGN(const std::vector<std::string> lines, reader.required_string_array(key));
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// The function that a Python text defines last at its outermost level; empty: none.
std::string last_function(const std::string& code) {
  std::string name;
  for (const std::string_view line : split_lines(code)) {
    if (!line.starts_with("def ")) continue;
    const size_t end = line.find('(');
    if (end != std::string_view::npos) name = line.substr(4, end - 4);
  }
  return name;
}

Result<ProgramTask> read_mbpp(const JsonObjectReader& reader) {
  ProgramTask task;
  TAPML_ASSIGN(std::string description, reader.string_or("text", ""));
  if (description.empty()) {
    TAPML_ASSIGN(description, reader.required_string("prompt"));
  }
  TAPML_ASSIGN(const std::vector<std::string> tests, reader.required_string_array("test_list"));
  if (tests.empty()) return fail(reader.field_error("test_list", "is empty", "a test at least"));
  // One test shows the name and the arguments.
  task.request = description + "\nIt passes this test:\n" + tests.front() + "\n";
  task.prompt = "\"\"\"\n" + description + "\n" + tests.front() + "\n\"\"\"\n";
  TAPML_ASSIGN(const std::string code, reader.string_or("code", ""));
  task.name = last_function(code);
  TAPML_ASSIGN(task.setup, reader.string_or("test_setup_code", ""));
  TAPML_ASSIGN(const std::string imports, lines_of(reader, "test_imports"));
  task.setup += "\n" + imports;
  TAPML_ASSIGN(task.tests, reader.string_or("test", ""));
  if (task.tests.empty()) {
    TAPML_ASSIGN(task.tests, lines_of(reader, "test_list"));
  }
  return task;
}

}  // namespace

bool is_published_program(const JsonObjectReader& reader) {
  return reader.has("test_list") || (reader.has("test") && reader.has("entry_point")) ||
         reader.has("base_input");
}

Result<ProgramTask> read_program_task(const JsonObjectReader& reader) {
  if (reader.has("test_list")) return read_mbpp(reader);
  if (!reader.has("test") && reader.has("base_input")) {
    return fail(reader.field_error(
        "base_input", "has inputs for the package evalplus in place of tests",
        "\"test\" with the tests as a program",
        "use the data sets evalplus/humanevalplus and evalplus/mbppplus, as JSON lines"));
  }
  ProgramTask task;
  TAPML_ASSIGN(task.prompt, reader.required_string("prompt"));
  if (task.prompt.empty()) {
    return fail(reader.field_error("prompt", "is empty", "the beginning of a program"));
  }
  task.begin = task.prompt;
  TAPML_ASSIGN(task.tests, reader.required_string("test"));
  if (task.tests.empty()) return fail(reader.field_error("test", "is empty", "tests in Python"));
  TAPML_ASSIGN(task.name, reader.string_or("entry_point", ""));
  if (!task.name.empty()) task.tests += "\ncheck(" + task.name + ")\n";
  return task;
}

std::vector<std::string> program_stops(const ProgramTask& task) {
  std::vector<std::string> stops = {"\nif __name__", "\nprint(", "\nassert ", "\n```", "\n\"\"\""};
  // The body of a function ends where something is not indented.
  if (!task.begin.empty()) {
    for (const char* text : {"\ndef ", "\nclass ", "\n@", "\nimport ", "\nfrom ", "\n#", "\nif "}) {
      stops.emplace_back(text);
    }
  }
  return stops;
}

std::string program_request(const ProgramTask& task) {
  const std::string wanted =
      "Answer with one block of Python code that has the whole function and its imports.\n";
  if (!task.request.empty()) return task.request + "\n" + wanted;
  return "Complete this Python function.\n\n```python\n" + task.prompt + "```\n\n" + wanted;
}

std::string code_of_answer(const std::string& answer, const std::string& name) {
  std::string_view text = answer;
  constexpr std::string_view kThoughtEnd = "</think>", kFence = "```";
  if (const size_t end = text.rfind(kThoughtEnd); end != std::string_view::npos) {
    text.remove_prefix(end + kThoughtEnd.size());
  }
  std::optional<std::string> first;
  const std::string definition = "def " + name + "(";
  while (true) {
    const size_t fence = text.find(kFence);
    if (fence == std::string_view::npos) break;
    // A traceback ends with the exception.
    const size_t line_end = text.find('\n', fence);
    if (line_end == std::string_view::npos) break;
    text.remove_prefix(line_end + 1);
    const size_t end = std::min(text.find(kFence), text.size());
    const std::string block(text.substr(0, end));
    if (!name.empty() && block.find(definition) != std::string::npos) return block;
    if (!first) first = block;
    text.remove_prefix(std::min(end + kFence.size(), text.size()));
  }
  return first ? *first : std::string(text);
}

Result<ProgramRunner> ProgramRunner::create(const ProgramOptions& options,
                                            std::function<bool()> cancelled) {
  // The file behind a name that may be a script or a link of an environment.
  auto found = run_command(
      {options.python, "-I", "-c", "import sys; print(sys.version_info[0], sys.executable)"},
      kLongestQuestion, cancelled);
  if (!found) {
    Error error = std::move(found).error();
    error.where = "the interpreter of programs";
    if (error.hint.empty()) error.hint = "name another one with --python FILE";
    return fail(std::move(error));
  }
  const std::string_view said = trim(found->output);
  if (found->exit_code != 0 || !said.starts_with("3 /")) {
    return fail(user_error("this is no Python 3", options.python, "an interpreter of Python 3",
                           std::string(said.substr(0, 200)),
                           "name another one with --python FILE"));
  }
  ProgramRunner runner;
  runner.python_ = said.substr(2);
  runner.limits_ = options.limits;
  runner.cancelled_ = std::move(cancelled);
  TAPML_ASSIGN(const ProgramOutcome tried, runner.run({.tests = "assert 1 + 1 == 2\n"}, ""));
  if (!tried.passed) {
    return fail(platform_error(PlatformFault::kAbsent,
                               "the interpreter does not run confined: " + tried.message,
                               runner.python_, "name another one with --python FILE"));
  }
  return runner;
}

Result<ProgramOutcome> ProgramRunner::run(const ProgramTask& task, const std::string& code) const {
  const std::string text = task.begin + code + "\n" + task.setup + "\n" + task.tests +
                           "\nimport os as tapml_os\ntapml_os.write(1, b\"\\n" + kEndMark +
                           "\\n\")\n";
  TAPML_ASSIGN(const ProgramEnd end,
               run_confined({.arguments = {python_, "-I", "-B", "-u", "program.py"},
                             .files = {{"program.py", text}}},
                            limits_, cancelled_));
  const std::string_view output = trim(end.output);
  ProgramOutcome outcome;
  outcome.passed = end.exit_code == 0 && !end.timed_out && output.ends_with(kEndMark);
  if (outcome.passed) return outcome;
  if (end.timed_out) {
    outcome.message = "did not end within " + std::to_string(limits_.time.count() / 1000) + " s";
  } else if (end.exit_code == 0) {
    outcome.message = "ended before its tests";
  } else if (end.exit_code > 128) {
    outcome.message = "ended by signal " + std::to_string(end.exit_code - 128);
  } else {
    const size_t line_end = output.find_last_of('\n');
    outcome.message = output.substr(line_end == std::string_view::npos ? 0 : line_end + 1, 200);
  }
  return outcome;
}

}  // namespace tapml::topdown
