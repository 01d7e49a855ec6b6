#include "rpc/transport/worker.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>
#include <tuple>

#include "base/log.h"
#include "base/units.h"
#include "rpc/transport/confinement.h"
#include "rpc/transport/process_limits.h"
#include "rpc/transport/stream_channel.h"

namespace tapml::rpc {

namespace {

constexpr rlim_t kOpenFiles = 1024;

int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void limit_resource(__rlimit_resource_t resource, rlim_t most) {
  rlimit limit = {};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  ::setrlimit(resource, &limit);
}

void become_worker(pid_t server) {
  leave_server(server, "tapml session");
  limit_resource(RLIMIT_NOFILE, kOpenFiles);
}

constexpr char kAsking = '?', kAdmitted = '+', kRefused = '-';  // on the control socket

// In a session's process: asks the server whether the session is admitted.
bool ask_server(const FileDescriptor& control) {
  char answer = kAsking;
  if (::send(control.get(), &answer, 1, MSG_NOSIGNAL) != 1) return false;
  ssize_t count = 0;
  do {
    count = ::recv(control.get(), &answer, 1, 0);
  } while (count < 0 && errno == EINTR);
  return count == 1 && answer == kAdmitted;
}

WorkerPage* g_worker_page = nullptr;  // of this process, for the handler below

// Records that memory ran out; without a handler the allocation then fails normally.
void on_no_memory() {
  g_worker_page->no_memory.store(true);
  std::set_new_handler(nullptr);
}

// Whether a crashed process had reached its memory limit: when one keeps allocating, its last
// request is the one that was refused.
bool ran_out(const WorkerPage& page) {
  const int64_t most = page.memory_limit.load();
  return page.no_memory.load() || (most > 0 && page.crash.data_bytes >= most - most / 8);
}

}  // namespace

void leave_server(pid_t server, const char* name) noexcept {
  ::prctl(PR_SET_NAME, name);
  ::setpgid(0, 0);  // Ctrl-C at the server's terminal is for the server
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != server) ::_exit(1);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  limit_resource(RLIMIT_CORE, 0);
}

Result<std::unique_ptr<Worker>> Worker::prepare(FileDescriptor& own_end) {
  std::unique_ptr<Worker> worker(new Worker());
  void* page = ::mmap(nullptr, sizeof(WorkerPage), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return fail(platform_error(PlatformFault::kLimit,
                               "no memory for a session's process: " + errno_text(errno)));
  }
  worker->page_ = new (page) WorkerPage();
  TAPML_ASSIGN(auto ends, make_socket_pair());
  worker->control_ = std::move(ends.first);
  own_end = std::move(ends.second);
  return worker;
}

Worker::~Worker() {
  if (process_ != 0) {
    kill(platform_error(PlatformFault::kLost, "the server ended"));
    ended(true);
  }
  if (page_ != nullptr) ::munmap(page_, sizeof(WorkerPage));
}

Result<pid_t> Worker::fork_process() noexcept {
  server_ = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) {
    return fail(
        platform_error(PlatformFault::kLimit, "no process for the session: " + errno_text(errno)));
  }
  if (process > 0) ::setpgid(process, process);  // the process does it too: either may be first
  return process;
}

bool Worker::asks() noexcept {
  char byte = 0;
  const ssize_t count = ::recv(control_.get(), &byte, 1, MSG_DONTWAIT);
  closed_ = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
  return count == 1;
}

void Worker::answer(bool admitted) noexcept {
  const char byte = admitted ? kAdmitted : kRefused;
  std::ignore = ::send(control_.get(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Worker::forget() noexcept {
  connection_ = {};
  control_.reset();
  process_ = 0;
  if (page_ != nullptr) ::munmap(page_, sizeof(WorkerPage));
  page_ = nullptr;
}

void Worker::serve(const ListenOptions& options, const FileDescriptor& control) noexcept {
  control_.reset();
  become_worker(server_);
  page_->memory_limit.store(limit_process_memory(options.process_bytes));
  const Status confined = confine_process();
  g_worker_page = page_;
  ProcessorTime processor(options.call);
  install_crash_handler(page_->crash, options.launch_note);
  ServerOptions server = options.server;
  server.admit = [&control, full = options.server.admit]() -> Status {
    if (ask_server(control)) return {};
    return full();
  };
  WorkerPage* page = page_;
  server.activity = [page, &processor](bool running) {
    if (running) {
      processor.begin();
      page->no_memory.store(false);
      std::set_new_handler(on_no_memory);
    }
    if (running && page->request_began.load() == 0) keep_crash_handler();
    page->request_began.store(running ? steady_nanoseconds() : 0);
  };
  // Opening a device is the first request.
  server.open_device = [page, open = options.server.open_device](const std::string& target) {
    page->request_began.store(steady_nanoseconds());
    auto device = open(target);
    page->request_began.store(0);
    return device;
  };
  server.ended = [page] { page->session_ended.store(steady_nanoseconds()); };
  // In shared memory, so that it survives a crash.
  server.recent = &page_->log;
  set_log_sink(
      [page, log = options.server.log](LogLevel level, std::string_view message) {
        page->log.add(message);
        if (level >= LogLevel::kWarning && log) log(std::string(message));
      },
      LogLevel::kInfo);
  if (!confined) log_warning(confined.error().message);
  const ServerLimits& limits = options.server.limits;
  {
    StreamChannel channel(std::move(connection_.in), std::move(connection_.out), "the client",
                          {limits.head_bytes, limits.payload_bytes}, &page_->inside_frame);
    const Status status = serve_session(channel, server);
    if (!status && options.server.log) {
      options.server.log("session " + std::to_string(number_) + ": " + status.error().message);
    }
  }
  // Skips the destructors of static objects inside drivers.
  ::_exit(0);
}

runtime::Deadline Worker::noted(const std::atomic<int64_t>& time) const noexcept {
  const int64_t nanoseconds = time.load();
  if (nanoseconds == 0 || process_ == 0) return {};
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(nanoseconds));
}

void Worker::kill(const Error& why) noexcept {
  if (process_ == 0) return;
  if (!killed_for_) killed_for_ = why;
  ::kill(-process_, SIGKILL);
  ::kill(process_, SIGKILL);  // if it has no process group yet
}

bool Worker::ended(bool shows) noexcept {
  if (process_ == 0) return true;
  // The server must not wait for a process that only closed its files.
  if (shows) ::kill(-process_, SIGKILL);
  int status = 0;
  pid_t done = 0;
  do {
    done = ::waitpid(process_, &status, shows ? 0 : WNOHANG);
  } while (done < 0 && errno == EINTR);
  if (done == 0) return false;
  ::kill(-process_, SIGKILL);  // ends what the process started
  process_ = 0;
  note_end(status);
  return true;
}

void Worker::note_end(int status) noexcept {
  if (killed_for_) {
    farewell_ = killed_for_;
  } else if (WIFSIGNALED(status)) {
    const bool noted = page_->crash.signal.load() != 0;
    const bool crashed = noted || is_crash_signal(WTERMSIG(status));
    std::string text = noted ? crash_text(page_->crash) : signal_name(WTERMSIG(status));
    if (WTERMSIG(status) == SIGXCPU) {
      farewell_ = platform_error(PlatformFault::kTimeout,
                                 "the session's process used more processor time than a request "
                                 "may take",
                                 "the server", "--call-seconds of the server is the limit");
      cut_off_ = page_->inside_frame.load();
      return;
    }
    const bool no_memory = crashed && ran_out(*page_);
    if (no_memory) {
      text = "it ran out of memory, having " + size_text(page_->crash.data_bytes) +
             " of data and private mappings, at most " + size_text(page_->memory_limit.load()) +
             ": " + text;
    }
    farewell_ = platform_error(
        crashed ? PlatformFault::kCrash : PlatformFault::kLost,
        crashed ? "the session's process crashed: " + text
                : "the session's process was ended by " + text,
        "the server",
        no_memory ? "a kernel that allocates without end, or too low a limit "
                    "(--process-memory of tapml rpc serve)"
        : crashed ? "the server and its other sessions go on; a new session can be opened at once"
                  : "someone ended it, or the machine ran out of memory");
  } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    farewell_ = platform_error(
        PlatformFault::kCrash,
        "the session's process ended with exit code " + std::to_string(WEXITSTATUS(status)),
        "the server");
  }
  cut_off_ = page_->inside_frame.load();
}

std::string Worker::end_text() const {
  const std::string name = "session " + std::to_string(number_);
  return farewell_ ? name + ": " + farewell_->message : name + ": ended";
}

}  // namespace tapml::rpc
