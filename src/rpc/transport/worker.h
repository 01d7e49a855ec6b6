// The process of one session, from both sides.
#pragma once

#include <sys/types.h>

#include <memory>

#include "rpc/transport/crash_report.h"
#include "rpc/transport/descriptor.h"
#include "rpc/transport/server.h"

namespace tapml::rpc {

// Memory that the server shares with one session's process, which writes it.
struct WorkerPage {
  std::atomic<bool> inside_frame = false;  // a frame is sent in part
  std::atomic<int64_t> request_began = 0;  // steady clock's nanoseconds; 0: none runs
  std::atomic<int64_t> session_ended = 0;  // the same; from then on the process gives things back
  std::atomic<int64_t> memory_limit = 0;   // of data and private mappings; 0: none
  std::atomic<bool> no_memory = false;     // an allocation of the current request was refused
  CrashReport crash;
  RecentLines log;
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "two processes share it");

// In a process that was just forked from the server: it ends with the server, and signals of the
// server's terminal are not for it. `name` is what lists of processes show.
void leave_server(pid_t server, const char* name) noexcept;

// A connection, both directions; `out` is not valid where `in` is a socket.
struct Connection {
  FileDescriptor in, out;
  int output() const noexcept { return out.valid() ? out.get() : in.get(); }
};

// What the server knows of a session. The process is gone with the object.
class Worker {
 public:
  // In the server: the worker. In the forked process: never returns. `forget` is called there
  // first, to close what is not the session's. Before it welcomes its client the process asks to be
  // admitted; it ends where it is not. kLimit where there is no process to have.
  template <class Forget>
  static Result<std::unique_ptr<Worker>> start(Connection connection, int64_t number,
                                               const ListenOptions& options, Forget&& forget);
  ~Worker();
  Worker(const Worker&) = delete;

  int64_t number() const noexcept { return number_; }
  // Readable once the process has ended, or asks to be admitted.
  int control() const noexcept { return control_.get(); }
  // Whether it asks; to be called where control() is readable.
  bool asks() noexcept;
  // The answer.
  void answer(bool admitted) noexcept;
  Connection& connection() noexcept { return connection_; }
  // Closes the server's ends, in another session's process.
  void forget() noexcept;

  // Since when the current request runs; none between requests.
  runtime::Deadline request_began() const noexcept { return noted(page_->request_began); }
  // Since when the session is over and the process gives back what it had; none before.
  runtime::Deadline session_ended() const noexcept { return noted(page_->session_ended); }
  // Ends the process and what it has started; `why` is for the client.
  void kill(const Error& why) noexcept;
  bool killed() const noexcept { return killed_for_.has_value(); }
  // Whether the process has ended; waits for one whose end shows, by what asks() found.
  bool ended() noexcept { return ended(closed_); }
  bool ended(bool shows) noexcept;
  // What the client has to be told of the end, when it can be: null after an end in good order, and
  // where half a frame went out.
  const Error* farewell() const noexcept { return farewell_ && !cut_off_ ? &*farewell_ : nullptr; }
  // The last lines that it logged, for the client.
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
  pid_t process_ = 0;  // 0: has ended, or is this one
  pid_t server_ = 0;
  Connection connection_;
  FileDescriptor control_;  // the server's end
  bool closed_ = false;     // the other end is
  WorkerPage* page_ = nullptr;
  std::optional<Error> killed_for_, farewell_;
  bool cut_off_ = false;  // inside of a frame
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
