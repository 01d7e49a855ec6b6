// `tapml rpc serve` or `tapml serve` in the background. Only for tests declared with PROGRAM.
#pragma once

#include <poll.h>

#include <iterator>
#include <sstream>

#include "support/program.h"

namespace tapml::testing {

class BackgroundServer {
 public:
  explicit BackgroundServer(std::vector<std::string> args,
                            const std::map<std::string, std::string>& environment = {},
                            const std::string& command = "rpc serve") {
    std::istringstream words(command);
    args.insert(args.begin(), std::istream_iterator<std::string>(words), {});
    args.insert(args.begin(), TAPML_PROGRAM);
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    int out[2];
    if (::pipe(out) != 0) {
      ADD_FAILURE() << "no pipe";
      return;
    }
    process_ = ::fork();
    if (process_ == 0) {
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      const int err = open((log_ / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (err < 0 || dup2(out[1], 1) < 0 || dup2(err, 2) < 0) _exit(126);
      ::close(out[0]);
      ::close(out[1]);
      execv(argv[0], argv.data());
      _exit(127);
    }
    ::close(out[1]);
    std::string line;
    char c = 0;
    while (::read(out[0], &c, 1) == 1 && c != '\n') line += c;
    ::close(out[0]);
    const std::string before = "serving at ";
    EXPECT_TRUE(line.starts_with(before)) << line << "\n" << log();
    if (line.starts_with(before)) endpoint_ = line.substr(before.size());
  }
  ~BackgroundServer() {
    if (process_ != 0) end(SIGKILL);
  }
  BackgroundServer(const BackgroundServer&) = delete;

  // The endpoint for a target, or the address; empty if the server did not start.
  const std::string& endpoint() const { return endpoint_; }
  std::string log() const { return read_bytes(log_ / "err"); }
  // SIGSTOP makes it silent without an end, SIGCONT lets it go on.
  void send(int signal) const { ::kill(process_, signal); }
  // Returns the exit code, or 128 plus the signal.
  int end(int signal = SIGTERM) {
    ::kill(process_, signal);
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  TempFolder log_;
  pid_t process_ = 0;
  std::string endpoint_;
};

}  // namespace tapml::testing
