// The process of one session, for both sides.
#pragma once

#include <sys/types.h>

#include <memory>

#include "rpc/transport/crash_report.h"
#include "rpc/transport/descriptor.h"
#include "rpc/transport/server.h"

namespace tapml::rpc {

// Memory that the server shares with one session's process, which writes to it.
struct WorkerPage {
  std::atomic<bool> inside_frame = false;  // a frame is partly sent
  std::atomic<int64_t> request_began = 0;  // steady clock, nanoseconds; 0: none runs
  std::atomic<int64_t> session_ended = 0;  // the same; after it the process releases resources
  std::atomic<int64_t> memory_limit = 0;   // for data and private mappings; 0: none
  std::atomic<bool> no_memory = false;     // an allocation of the current request was refused
  CrashReport crash;
  RecentLines log;
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "two processes share it");

// Called in a process just forked from the server: it ends with the server, and ignores signals of
// the server's terminal. `name` is shown in process lists.
void leave_server(pid_t server, const char* name) noexcept;

// A connection in both directions; `out` is not valid if `in` is a socket.
struct Connection {
  FileDescriptor in, out;
  int output() const noexcept { return out.valid() ? out.get() : in.get(); }
};

// The server's view of a session. Destroying it ends the process.
class Worker {
 public:
  // In the server: returns the worker. In the forked process: never returns, and calls `forget`
  // first, to close what is not the session's. Before it welcomes its client, the process asks to
  // be admitted, and ends if it is refused. kLimit if no process can be started.
  template <class Forget>
  static Result<std::unique_ptr<Worker>> start(Connection connection, int64_t number,
                                               const ListenOptions& options, Forget&& forget);
  ~Worker();
  Worker(const Worker&) = delete;

  int64_t number() const noexcept { return number_; }
  // Readable when the process has ended or asks to be admitted.
  int control() const noexcept { return control_.get(); }
  // Whether it asks to be admitted; called when control() is readable.
  bool asks() noexcept;
  // Sends the answer.
  void answer(bool admitted) noexcept;
  Connection& connection() noexcept { return connection_; }
  // For use in another session's process: closes the server's ends.
  void forget() noexcept;

  // When the current request began; nothing between requests.
  runtime::Deadline request_began() const noexcept { return noted(page_->request_began); }
  // When the session ended and the process began to release resources; nothing before that.
  runtime::Deadline session_ended() const noexcept { return noted(page_->session_ended); }
  // Ends the process and what it started; `why` is reported to the client.
  void kill(const Error& why) noexcept;
  bool killed() const noexcept { return killed_for_.has_value(); }
  // Whether the process has ended; waits for it if asks() found its end of the connection closed.
  bool ended() noexcept { return ended(closed_); }
  bool ended(bool shows) noexcept;
  // The error to report to the client after the end: null after a normal end, and if half a frame
  // was sent.
  const Error* farewell() const noexcept { return farewell_ && !cut_off_ ? &*farewell_ : nullptr; }
  // The last lines that the process logged, for the client.
  std::vector<std::string> last_lines() const { return page_->log.last_lines(); }
  // One line for the log.
  std::string end_text() const;

 private:
  Worker() = default;
  static Result<std::unique_ptr<Worker>> prepare(FileDescriptor& own_end);
  [[noreturn]] void serve(const ListenOptions& options, const FileDescriptor& control) noexcept;
  runtime::Deadline noted(const std::atomic<int64_t>& time) const noexcept;
  void note_end(int status) noexcept;
  Result<pid_t> fork_process() noexcept;

  int64_t number_ = 0;
  pid_t process_ = 0;  // 0: it has ended, or is this process
  pid_t server_ = 0;
  Connection connection_;
  FileDescriptor control_;  // the server's end
  bool closed_ = false;     // the other end is closed
  WorkerPage* page_ = nullptr;
  std::optional<Error> killed_for_, farewell_;
  bool cut_off_ = false;  // inside a frame
};

template <class Forget>
Result<std::unique_ptr<Worker>> Worker::start(Connection connection, int64_t number,
                                              const ListenOptions& options, Forget&& forget) {
  FileDescriptor own_end;
  TAPML_ASSIGN(auto worker, prepare(own_end));
  worker->number_ = number;
  worker->connection_ = std::move(connection);
  TAPML_ASSIGN(const pid_t process, worker->fork_process());
  if (process != 0) {
    worker->process_ = process;
    return worker;
  }
  forget();
  worker->serve(options, own_end);
}

}  // namespace tapml::rpc
