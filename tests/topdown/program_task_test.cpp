// Tasks whose answer is a program: published files, code in answers, and the verdict of the tests.
#include "topdown/evaluate/program_task.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "topdown/evaluate/eval_tasks.h"

namespace tapml::topdown {
namespace {

// A line of each published form, made by hand.
constexpr const char* kHumanEval =
    R"j({"task_id": "HumanEval/900", "prompt": "import math\n\n\ndef half(x: int) -> int:\n)j"
    R"j(    \"\"\"Half of x, rounded down.\n    >>> half(5)\n    2\n    \"\"\"\n", )j"
    R"j("entry_point": "half", "canonical_solution": "    return x // 2\n", )j"
    R"j("test": "def check(candidate):\n    assert candidate(5) == 2\n    assert candidate(-1) == -1\n"})j";
constexpr const char* kMbpp =
    R"j({"task_id": 900, "text": "Write a function to double a number.", )j"
    R"j("code": "def helper(x):\n    return 2 * x\n\ndef twice(x):\n    return helper(x)", )j"
    R"j("test_setup_code": "", "test_list": ["assert twice(2) == 4", "assert twice(-3) == -6"], )j"
    R"j("challenge_test_list": []})j";
constexpr const char* kMbppPlus =
    R"j({"task_id": 901, "prompt": "Write a function to find a square root.", )j"
    R"j("code": "import math\ndef root(x):\n    return math.sqrt(x)", "source_file": "x", )j"
    R"j("test_imports": ["import math"], "test_list": ["assert root(4) == 2"], )j"
    R"j("test": "inputs = [[4], [2]]\nfor [x] in inputs:\n    assert math.isclose(root(x), math.sqrt(x))\n"})j";
constexpr const char* kOwn =
    R"j({"kind": "program", "id": "own", "prompt": "text = r'''", "test": "'''\nassert text"})j";

TEST(ProgramTask, EveryFormIsRead) {
  const std::vector<EvalTask> tasks = parse_tasks(
      std::string(kHumanEval) + "\n" + kMbpp + "\n" + kMbppPlus + "\n" + kOwn, "p.jsonl");
  ASSERT_EQ(tasks.size(), 4u);
  for (const EvalTask& task : tasks) EXPECT_EQ(task.kind, TaskKind::kProgram);
  EXPECT_EQ(tasks[0].id, "HumanEval/900");
  EXPECT_EQ(tasks[0].program.name, "half");
  EXPECT_EQ(tasks[0].program.begin, tasks[0].prompt);
  EXPECT_TRUE(tasks[0].program.tests.ends_with("\ncheck(half)\n"));
  EXPECT_EQ(tasks[1].id, "900");
  EXPECT_EQ(tasks[1].program.name, "twice");
  EXPECT_EQ(tasks[1].program.begin, "");
  EXPECT_EQ(tasks[1].prompt,
            "\"\"\"\nWrite a function to double a number.\nassert twice(2) == 4\n\"\"\"\n");
  EXPECT_EQ(tasks[1].program.tests, "assert twice(2) == 4\nassert twice(-3) == -6\n");
  EXPECT_EQ(tasks[2].program.setup, "\nimport math\n");
  EXPECT_TRUE(tasks[2].program.tests.starts_with("inputs = "));
  EXPECT_EQ(tasks[3].id, "own");
  EXPECT_EQ(tasks[3].program.tests, "'''\nassert text");
}

TEST(ProgramTask, BadLinesAreRefused) {
  struct Case {
    const char* line;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {R"({"kind": "program", "test": "x"})", {"p.jsonl:1", "\"prompt\" is missing"}},
      {R"({"kind": "program", "prompt": "", "test": "x"})", {"\"prompt\" is empty"}},
      {R"({"kind": "program", "prompt": "x"})", {"\"test\" is missing"}},
      {R"({"kind": "program", "prompt": "x", "test": ""})", {"\"test\" is empty"}},
      {R"({"kind": "program", "prompt": "x", "test": "y", "answer": 1})",
       {"\"answer\" is unknown", "program"}},
      {R"({"task_id": "Mbpp/2", "prompt": "x", "base_input": [[1]], "entry_point": "f"})",
       {"\"base_input\"", "evalplus", "JSON lines"}},
      {R"({"task_id": 1, "text": "x", "test_list": []})", {"\"test_list\" is empty"}},
      {R"({"task_id": 1, "test_list": ["x"]})", {"\"prompt\" is missing"}},
      {R"({"task_id": [1], "text": "x", "test_list": ["x"]})", {"\"task_id\""}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    testing::expect_user_error([&] { parse_tasks(one.line, "p.jsonl"); }, one.parts);
  }
}

TEST(ProgramTask, CodeOfAnAnswer) {
  EXPECT_EQ(code_of_answer("def f(x):\n  return 1\n", "f"), "def f(x):\n  return 1\n");
  EXPECT_EQ(code_of_answer("Sure:\n```python\ndef f(x):\n  return 1\n```\nIt works.", "f"),
            "def f(x):\n  return 1\n");
  // The one that defines the function, not a first example; an answer may end too early.
  EXPECT_EQ(code_of_answer("```\nf(1)\n```\nand\n```py\ndef f(x):\n  return 1", "f"),
            "def f(x):\n  return 1");
  EXPECT_EQ(code_of_answer("```\nf(1)\n```\n```\ng(1)\n```", "h"), "f(1)\n");
  EXPECT_EQ(code_of_answer("<think>```\ndef f(): 0\n```</think>```\ndef f(): 1\n```", "f"),
            "def f(): 1\n");
  EXPECT_EQ(code_of_answer("```", "f"), "```");
}

ProgramRunner runner() {
  ProgramOptions options;
  options.python = "/usr/bin/python3";
  options.limits.time = std::chrono::seconds(5);
  return unwrap(ProgramRunner::create(options));
}

TEST(ProgramTask, TestsJudgeTheProgram) {
  const ProgramRunner python = runner();
  const std::vector<EvalTask> tasks =
      parse_tasks(std::string(kHumanEval) + "\n" + kMbpp + "\n" + kMbppPlus, "p.jsonl");
  struct Case {
    size_t task;
    const char* code;
    const char* message;  // empty: solved
  };
  const Case cases[] = {
      {0, "    return x // 2\n", ""},
      // As in a chat, with a definition of its own.
      {0, "def half(x):\n    return math.floor(x / 2)\n", ""},
      {0, "    return int(x / 2)\n", "AssertionError"},
      {0, "    return x /\n", "SyntaxError: invalid syntax"},
      {0, "    return x // two\n", "NameError: name 'two' is not defined"},
      {0, "    while True: pass\n", "did not end within 5 s"},
      {0, "    return x // 2\nimport sys\nsys.exit(0)\n", "ended before its tests"},
      {0, "    import os\n    os._exit(0)\n", "ended before its tests"},
      {0, "    import os, signal\n    os.kill(os.getpid(), signal.SIGSEGV)\n",
       "ended by signal 11"},
      {0, "    import subprocess\n    subprocess.run('true')\n", "PermissionError"},
      {1, "def twice(x):\n    print('working')\n    return x + x\n", ""},
      {1, "def twice(x):\n    return 4\n", "AssertionError"},
      {2, "import math\ndef root(x):\n    return math.sqrt(x)\n", ""},
      {2, "def root(x):\n    return 2\n", "AssertionError"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.code);
    const ProgramOutcome outcome = unwrap(python.run(tasks[one.task].program, one.code));
    EXPECT_EQ(outcome.passed, *one.message == '\0') << outcome.message;
    EXPECT_NE(outcome.message.find(one.message), std::string::npos) << outcome.message;
  }
}

TEST(ProgramTask, AnInterpreterThatIsNone) {
  ProgramOptions options;
  options.python = "no-such-interpreter";
  auto none = ProgramRunner::create(options);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().to_string().find("--python"), std::string::npos);
  options.python = "true";
  none = ProgramRunner::create(options);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().to_string().find("no Python 3"), std::string::npos);
}

}  // namespace
}  // namespace tapml::topdown
