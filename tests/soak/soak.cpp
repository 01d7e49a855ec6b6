// Many concurrent sessions for a long time: `make soak`. The server is a separate process, each
// session has a thread, and every result is checked. At the end nothing may be left, and the server
// may not have grown.
//
//   tapml_soak [--minutes M | --seconds S] [--sessions N] [--seed S] [--way tcp|unix] [--json FILE]
//
// Exit code: 0, 1 (something was lost, wrong, left or grew), 2 (options).
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "device/cpu/cpu_device.h"
#include "io/host/files.h"
#include "io/json.h"
#include "rpc/session/host/content_folder.h"
#include "rpc/transport/server.h"
#include "soak/client.h"
#include "soak/program.h"

namespace tapml::soak {
namespace {

using Clock = std::chrono::steady_clock;

// How much the server may grow between the first tenth and the end: allocator noise. For its
// sessions together: what they happen to hold then.
constexpr double kServerGrowth = 4, kSessionGrowth = 2;  // MiB, MiB per session

struct Options {
  double seconds = 600;
  int sessions = 64;
  uint64_t seed =
      static_cast<uint64_t>(::getpid()) * 1000003 + static_cast<uint64_t>(::time(nullptr));
  std::string way = "tcp", json;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    const bool is_number = !value.empty() && *end == '\0' && number > 0;
    if (name == "--minutes" && is_number) {
      options.seconds = 60 * number;
    } else if (name == "--seconds" && is_number) {
      options.seconds = number;
    } else if (name == "--sessions" && is_number && number <= 1000) {
      options.sessions = static_cast<int>(number);
    } else if (name == "--seed" && is_number) {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--way" && (value == "tcp" || value == "unix")) {
      options.way = value;
    } else if (name == "--json") {
      options.json = value;
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

std::atomic<bool> g_stop = false;

// Runs in the server's process.
int serve(const std::string& endpoint, const std::string& kept, int sessions, int ready) {
  std::signal(SIGTERM, [](int) { g_stop = true; });
  rpc::ListenOptions options;
  options.sessions = 2 * sessions + 16;  // processes of disconnected clients take a moment to exit
  options.call = std::chrono::seconds(120);
  // A leak of these ends a session.
  options.server.limits.memory_bytes = int64_t{32} << 20;
  options.server.limits.handles = 2000;
  options.server.describe = [] { return std::string(kStatus); };
  options.server.open_device = [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
    return std::make_shared<device::CpuDevice>(1, std::make_shared<test::NativeLoader>());
  };
  options.server.open_contents = [kept] { return rpc::open_content_folder(kept, 64 << 20); };
  auto parsed = rpc::parse_endpoint(endpoint);
  auto server = parsed ? rpc::Server::listen(*parsed, options) : fail(parsed.error());
  const std::string text = server ? (*server)->endpoint().text() : server.error().to_string();
  if (::write(ready, text.data(), text.size()) < 0 || !server) return 3;
  ::close(ready);
  return (*server)->run(g_stop) ? 0 : 4;
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

size_t open_files(pid_t process) {
  size_t count = 0;
  if (DIR* folder = ::opendir(("/proc/" + std::to_string(process) + "/fd").c_str())) {
    while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.';
    ::closedir(folder);
  }
  return count;
}

// Anonymous memory, including what the process shares with its parent after the fork.
double anonymous_mib(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  std::string word;
  double kib = 0;
  while (file >> word) {
    if (word == "RssAnon:" && file >> kib) return kib / 1024;
  }
  return 0;  // has just ended
}

struct Sample {
  double server_mib = 0, sessions_mib = 0;
  size_t sessions = 0;
};

Sample take_sample(pid_t server) {
  Sample sample;
  sample.server_mib = anonymous_mib(server);
  for (const pid_t child : children_of(server)) {
    sample.sessions_mib += anonymous_mib(child);
    ++sample.sessions;
  }
  return sample;
}

Json json_of(const Sample& sample) {
  return Json::object({{"server_mib", Json::number(sample.server_mib)},
                       {"sessions_mib", Json::number(sample.sessions_mib)},
                       {"processes", Json::integer(static_cast<int64_t>(sample.sessions))}});
}

bool becomes_idle(pid_t server) {
  for (int i = 0; i < 1000; ++i) {
    if (children_of(server).empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class Soak {
 public:
  Soak(Options options, rpc::Endpoint endpoint, pid_t server)
      : options_(std::move(options)), endpoint_(std::move(endpoint)), server_(server) {}

  // Runs all sessions; samples after one tenth, half and nine tenths of the time.
  void run() {
    const auto start = Clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.sessions; ++i) threads.emplace_back([this, i] { use_session(i); });
    const bool live = ::isatty(STDERR_FILENO) != 0;
    int shown = -1;
    size_t taken = 0;
    while (true) {
      const double share =
          std::chrono::duration<double>(Clock::now() - start).count() / options_.seconds;
      const double at[] = {0.1, 0.5, 0.9};
      if (taken < 3 && share >= at[taken]) samples_[taken++] = take_sample(server_);
      if (share >= 1) break;
      if (live || static_cast<int>(share * 10) != shown) {
        shown = static_cast<int>(share * 10);
        std::fprintf(stderr, "%ssoak: %d%%, %lld calls, %zu errors%s", live ? "\r\033[K" : "",
                     static_cast<int>(share * 100), static_cast<long long>(calls_.load()), errors(),
                     live ? "" : "\n");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
    std::fprintf(stderr, "%ssoak: %lld calls\n", live ? "\r\033[K" : "",
                 static_cast<long long>(calls_.load()));
  }

  void add_error(const std::string& text) {
    const std::lock_guard guard(lock_);
    errors_.push_back(text);
    if (errors_.size() <= 10) std::fprintf(stderr, "soak: %s\n", text.c_str());
  }
  size_t errors() {
    const std::lock_guard guard(lock_);
    return errors_.size();
  }

  void check_memory() {
    const double server = samples_[2].server_mib - samples_[0].server_mib;
    if (server > kServerGrowth) add_error("the server grew by " + std::to_string(server) + " MiB");
    const double sessions = samples_[2].sessions_mib - samples_[0].sessions_mib;
    if (sessions > kSessionGrowth * options_.sessions) {
      add_error("the sessions grew by " + std::to_string(sessions) + " MiB");
    }
  }

  Json report() {
    Json json = Json::object({});
    json.set("passed", Json::boolean(errors() == 0));
    json.set("seed", Json::integer(static_cast<int64_t>(options_.seed)));
    json.set("way", Json::string(options_.way));
    json.set("sessions", Json::integer(options_.sessions));
    json.set("seconds", Json::number(options_.seconds));
    json.set("calls", Json::integer(calls_.load()));
    Json kinds = Json::object({});
    for (const auto& [kind, count] : kinds_) kinds.set(kind, Json::integer(count));
    json.set("kinds", std::move(kinds));
    json.set("start", json_of(samples_[0]));
    json.set("middle", json_of(samples_[1]));
    json.set("end", json_of(samples_[2]));
    std::vector<Json> errors;
    for (const std::string& error : errors_) errors.push_back(Json::string(error));
    json.set("errors", Json::array(std::move(errors)));
    return json;
  }

 private:
  void use_session(int index) {
    const uint64_t seed = options_.seed + 1000003ULL * static_cast<uint64_t>(index);
    Client client(endpoint_, seed, index % 4 == 0);
    while (!stop_) {
      const Status status = client.step();
      ++calls_;
      if (status) continue;
      add_error("session " + std::to_string(index) + ": " + status.error().to_string());
      break;
    }
    const std::lock_guard guard(lock_);
    for (const auto& [kind, count] : client.calls()) kinds_[kind] += count;
  }

  const Options options_;
  const rpc::Endpoint endpoint_;
  const pid_t server_;
  Sample samples_[3];
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> calls_ = 0;
  std::mutex lock_;
  std::vector<std::string> errors_;
  std::map<std::string, int64_t> kinds_;
};

int run(const Options& options) {
  std::string folder = (std::filesystem::temp_directory_path() / "tapml-soak-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 2;
  int ready[2];
  if (::pipe(ready) != 0) return 2;
  const std::string endpoint =
      options.way == "unix" ? "unix:" + folder + "/server" : "tcp:127.0.0.1:0";
  std::fprintf(stderr, "soak: %d sessions over %s for %.0f s, seed %llu\n", options.sessions,
               options.way.c_str(), options.seconds, static_cast<unsigned long long>(options.seed));
  const pid_t server = ::fork();
  if (server == 0) ::_exit(serve(endpoint, folder + "/kept", options.sessions, ready[1]));
  ::close(ready[1]);
  char text[512] = {};
  const ssize_t count = ::read(ready[0], text, sizeof text - 1);
  ::close(ready[0]);
  auto chosen = rpc::parse_endpoint(count > 0 ? text : "");
  if (!chosen) {
    std::fprintf(stderr, "soak: no server: %s\n", text);
    return 2;
  }

  Soak soak(options, *chosen, server);
  const size_t files_before = open_files(server);
  soak.run();
  soak.check_memory();
  if (!becomes_idle(server)) {
    soak.add_error(std::to_string(children_of(server).size()) + " processes are left");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // the last connections linger
  const size_t files_after = open_files(server);
  if (files_after > files_before) {
    soak.add_error("open files of the server: " + std::to_string(files_before) + ", then " +
                   std::to_string(files_after));
  }
  ::kill(server, SIGTERM);
  int status = 0;
  ::waitpid(server, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) soak.add_error("the server failed");
  if (std::filesystem::exists(folder + "/server")) soak.add_error("the socket's file is left");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);

  const std::string report = soak.report().dump();
  std::printf("%s\n", report.c_str());
  if (!options.json.empty()) {
    std::filesystem::create_directories(std::filesystem::path(options.json).parent_path(), ignored);
    if (Status written = write_text_atomic(options.json, report + "\n"); !written) {
      std::fprintf(stderr, "soak: %s\n", written.error().to_string().c_str());
      return 2;
    }
  }
  return soak.errors() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tapml::soak

int main(int argc, char** argv) {
  tapml::soak::Options options;
  if (!tapml::soak::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: tapml_soak [--minutes M | --seconds S] [--sessions N] [--seed S] "
                 "[--way tcp|unix] [--json FILE]\n");
    return 2;
  }
  return tapml::soak::run(options);
}
