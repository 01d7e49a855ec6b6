// A server in a separate process, and checks of what it leaves.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "faulty_device.h"
#include "rpc/transport/descriptor.h"
#include "rpc/transport/server.h"

namespace tapml::testing {

// Whether `holds` becomes true within `time`.
inline bool becomes_true(const std::function<bool()>& holds,
                         std::chrono::milliseconds time = std::chrono::seconds(5)) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

inline bool process_runs(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z" && state != "X";
}

inline std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

inline std::string process_name(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

class ServerProcess {
 public:
  // Serves a FaultyDevice at `endpoint`, unless `options` open another device.
  ServerProcess(const std::string& endpoint, rpc::ListenOptions options) {
    if (!options.server.open_device) {
      options.server.open_device =
          [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
        return std::make_shared<FaultyDevice>();
      };
    }
    auto ready = rpc::make_pipe();
    process_ = ::fork();
    if (process_ == 0) ::_exit(serve(endpoint, options, ready->write.get()));
    ready->write.reset();
    char text[256];
    const ssize_t count = ::read(ready->read.get(), text, sizeof text);
    const std::string chosen(text, static_cast<size_t>(std::max<ssize_t>(count, 0)));
    auto parsed = rpc::parse_endpoint(chosen);
    EXPECT_TRUE(parsed) << "no server at " << endpoint;
    if (parsed) endpoint_ = *parsed;
  }
  ~ServerProcess() {
    if (process_ != 0) kill(SIGKILL);
  }
  ServerProcess(const ServerProcess&) = delete;

  const rpc::Endpoint& endpoint() const { return endpoint_; }
  // The processes of sessions, without the TLS relays.
  std::vector<pid_t> workers() const {
    std::vector<pid_t> workers = children();
    std::erase_if(workers, [](pid_t child) { return process_name(child) == "tapml tls"; });
    return workers;
  }
  std::vector<pid_t> children() const { return children_of(process_); }
  bool becomes_idle() const {
    return becomes_true([&] { return children().empty(); });
  }
  // Returns the exit code, or 128 plus the signal.
  int kill(int signal) {
    ::kill(process_, signal);
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  static inline std::atomic<bool> stop_ = false;

  static int serve(const std::string& text, const rpc::ListenOptions& options, int ready) {
    std::signal(SIGTERM, [](int) { stop_ = true; });
    auto endpoint = rpc::parse_endpoint(text);
    if (!endpoint) return 2;
    auto server = rpc::Server::listen(*endpoint, options);
    if (!server) return 3;
    const std::string chosen = (*server)->endpoint().text();
    if (::write(ready, chosen.data(), chosen.size()) < 0) return 4;
    return (*server)->run(stop_) ? 0 : 5;
  }

  rpc::Endpoint endpoint_;
  pid_t process_ = 0;
};

}  // namespace tapml::testing
