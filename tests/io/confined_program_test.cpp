// Programs that nobody has read: what they cannot do, one case each, and how they end.
#include "io/host/confined_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temp_folder.h"

namespace tapml {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

ProgramEnd run_python(const std::string& text, const ProgramLimits& limits = {}) {
  auto end = run_confined(
      {.arguments = {kPython, "-I", "-B", "program.py"}, .files = {{"program.py", text}}}, limits);
  if (!end) {
    ADD_FAILURE() << end.error().to_string();
    return {.exit_code = -1};
  }
  return *std::move(end);
}

TEST(ConfinedProgram, GivesOutputAndExitCode) {
  const ProgramEnd end = run_python(
      "import sys\nprint('out', flush=True)\nprint(sys.stdin.read(), end='')\n"
      "sys.stderr.write('err\\n')\nsys.exit(3)\n");
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.output, "out\nerr\n");
  EXPECT_FALSE(end.timed_out);
}

TEST(ConfinedProgram, UsesItsFolderAndThreads) {
  const ProgramEnd end = run_python(
      "import os, threading\n"
      "os.mkdir('made'); open('made/file', 'w').write('text'); os.rename('made/file', 'moved')\n"
      "done = []\n"
      "thread = threading.Thread(target=lambda: done.append(open('moved').read()))\n"
      "thread.start(); thread.join()\n"
      "open('/dev/null', 'w').write('x')\n"
      "print(done, os.listdir())\n");
  EXPECT_EQ(end.exit_code, 0) << end.output;
  EXPECT_TRUE(end.output.starts_with("['text']")) << end.output;
}

TEST(ConfinedProgram, LeavesNothingBehind) {
  const ProgramEnd end =
      run_python("import os\nopen('more', 'w').write('x')\nprint(os.getcwd())\n");
  const std::string folder = end.output.substr(0, end.output.find('\n'));
  EXPECT_NE(folder.find("tapml-program-"), std::string::npos) << end.output;
  EXPECT_NE(::access(folder.c_str(), F_OK), 0);
}

// Each statement fails with PermissionError.
TEST(ConfinedProgram, MayNotReachAnythingElse) {
  testing::TempFolder outside;
  testing::write_bytes(outside / "mine", "mine");
  const std::string mine = "'" + (outside / "mine") + "'";
  const std::string refused[] = {
      "import socket; socket.socket()",
      "import socket; socket.socketpair()",
      "import os; os.fork()",
      "import subprocess; subprocess.run(['/bin/true'])",
      "import os; os.posix_spawn('/bin/true', ['true'], {})",
      "import os; os.kill(" + std::to_string(::getpid()) + ", 0)",
      "import os; os.kill(1, 0)",
      "import os; os.kill(-1, 0)",
      "import os; os.setsid()",
      "open(" + mine + ", 'w')",
      "import os; os.truncate(" + mine + ", 0)",
      "import os; os.remove(" + mine + ")",
      "import os; os.rename(" + mine + ", 'taken')",
      "import os; os.mkdir('" + (outside / "folder") + "')",
      "import os; os.chmod(" + mine + ", 0o777)",
      "import os; os.chown(" + mine + ", 1, 1)",
      "import os; os.utime(" + mine + ")",
      "import os; os.setxattr(" + mine + ", 'user.x', b'x')",
      "open('/tmp/tapml-of-a-program', 'w')",
      "open('/etc/tapml', 'w')",
      "import os; os.unshare(os.CLONE_NEWUSER) if hasattr(os, 'unshare') else open('/etc/x', 'w')",
  };
  for (const std::string& statement : refused) {
    SCOPED_TRACE(statement);
    const ProgramEnd end = run_python("try:\n    " + statement + "\nexcept OSError as error:\n" +
                                      "    print(type(error).__name__)\n");
    EXPECT_EQ(end.exit_code, 0) << end.output;
    // A rename to another file system fails for this reason first.
    EXPECT_TRUE(end.output == "PermissionError\n" || end.output == "OSError\n") << end.output;
  }
  EXPECT_EQ(testing::read_bytes(outside / "mine"), "mine");
}

TEST(ConfinedProgram, IsAUserOfItsOwnUnderTheSuperuser) {
  if (::geteuid() != 0) GTEST_SKIP() << "not the superuser";
  testing::TempFolder outside;
  testing::write_bytes(outside / "secret", "secret");
  std::filesystem::permissions(outside / "secret", std::filesystem::perms::owner_read);
  const ProgramEnd end = run_python(
      "import os\nprint(os.getuid() != 0, os.getgid() != 0, os.getgroups())\n"
      "try:\n    open('" +
      (outside / "secret") + "')\nexcept PermissionError:\n    print('no')\n");
  EXPECT_EQ(end.output, "True True []\nno\n");
}

// An interpreter that only the superuser may run keeps the superuser, without rights.
TEST(ConfinedProgram, OfTheSuperuserAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "not the superuser";
  testing::TempFolder own;
  std::filesystem::create_directory(own / "bin");
  std::filesystem::copy_file(std::filesystem::canonical(kPython), own / "bin/python3");
  std::filesystem::permissions(own / "bin", std::filesystem::perms::owner_all);
  testing::write_bytes(own / "mine", "mine");
  const std::string mine = "'" + (own / "mine") + "'";
  const std::string text =
      "import os, socket\nprint(os.getuid())\n"
      "for attempt in (lambda: open(" +
      mine + ", 'w'), lambda: os.chmod(" + mine +
      ", 0o777),\n"
      "                lambda: os.kill(1, 9), lambda: os.fork(), lambda: socket.socket(),\n"
      "                lambda: os.setuid(5)):\n"
      "    try:\n        attempt()\n        print('done')\n"
      "    except PermissionError:\n        pass\n";
  auto end = run_confined({.arguments = {own / "bin/python3", "-I", "-B", "program.py"},
                           .files = {{"program.py", text}}},
                          {});
  ASSERT_TRUE(end) << end.error().to_string();
  EXPECT_EQ(end->output, "0\n");
  EXPECT_EQ(testing::read_bytes(own / "mine"), "mine");
}

TEST(ConfinedProgram, SeesNothingOfTheEnvironment) {
  ::setenv("TAPML_SECRET_OF_THE_TEST", "secret", 1);
  const ProgramEnd end = run_python("import os\nprint(sorted(os.environ))\n");
  ::unsetenv("TAPML_SECRET_OF_THE_TEST");
  EXPECT_EQ(end.output.find("TAPML"), std::string::npos) << end.output;
  EXPECT_NE(end.output.find("TMPDIR"), std::string::npos) << end.output;
}

TEST(ConfinedProgram, EndsAtItsLimits) {
  ProgramLimits limits;
  limits.time = std::chrono::milliseconds(1000);
  // Even if it closes its output.
  for (const char* text : {"while True: pass\n", "import time\ntime.sleep(600)\n",
                           "import os, time\nos.close(1); os.close(2)\ntime.sleep(600)\n"}) {
    SCOPED_TRACE(text);
    EXPECT_TRUE(run_python(text, limits).timed_out);
  }
  limits = {.memory = int64_t{512} << 20};
  const ProgramEnd large = run_python("x = bytearray(1 << 30)\n", limits);
  EXPECT_EQ(large.exit_code, 1);
  EXPECT_NE(large.output.find("MemoryError"), std::string::npos) << large.output;
  limits = {.file_size = 1000};
  EXPECT_NE(
      run_python("f = open('big', 'wb')\nf.write(b'x' * 5000)\nf.close()\n", limits).exit_code, 0);
}

TEST(ConfinedProgram, KeepsTheEndOfALongOutput) {
  const ProgramEnd end = run_python("for i in range(200000): print('line', i)\nprint('the end')\n");
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.output.size(), size_t{64} << 10);
  EXPECT_TRUE(end.output.ends_with("line 199999\nthe end\n"));
}

TEST(ConfinedProgram, IsCancelled) {
  int asked = 0;
  auto end = run_confined({.arguments = {kPython, "-c", "import time; time.sleep(600)"}}, {},
                          [&] { return ++asked > 1; });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().fault, PlatformFault::kCancelled);
}

TEST(ConfinedProgram, AnUnknownProgramIsAbsent) {
  auto end = run_confined({.arguments = {"/no/such/program"}}, {});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().fault, PlatformFault::kAbsent);
  EXPECT_NE(end.error().message.find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace tapml
