// Sessions: a local or remote device, and everything that Python holds on it.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "app/libraries.h"
#include "app/remote.h"
#include "binding.h"
#include "runtime/session.h"
#include "target/target.h"

namespace tapml::python {

// An object on a session that is dropped when the session is closed. Its methods, and all of
// OpenSession's, are called with the GIL, which orders them.
class Resource {
 public:
  virtual ~Resource() = default;
  virtual void drop() noexcept = 0;
};

// A session as Python knows it. Running work holds a reference to the runtime's session, so closing
// on one thread does not affect work on another.
class OpenSession : public std::enable_shared_from_this<OpenSession> {
 public:
  OpenSession(target::Target target, std::shared_ptr<runtime::Session> session,
              app::LibraryFiles libraries, app::RemoteOptions remote)
      : target_(std::move(target)),
        session_(std::move(session)),
        libraries_(std::move(libraries)),
        remote_(std::move(remote)) {}

  const target::Target& target() const { return target_; }
  // Options for opening further sessions like this one.
  const app::LibraryFiles& libraries() const { return libraries_; }
  const app::RemoteOptions& remote() const { return remote_; }
  bool closed() const { return !session_; }
  // Throws tapml.ClosedError after close().
  std::shared_ptr<runtime::Session> use() const;
  void close();

  void add(Resource* resource) { resources_.insert(resource); }
  void remove(Resource* resource) { resources_.erase(resource); }

  // Memory that Python code may write without the session's knowledge: exported or shared arrays.
  // Each of these storages counts as written before every call, so that no copy of it is trusted.
  void share(uint64_t storage) { ++shared_[storage]; }
  void unshare(uint64_t storage);
  bool is_shared(uint64_t storage) const { return shared_.contains(storage); }

 private:
  target::Target target_;
  std::shared_ptr<runtime::Session> session_;
  app::LibraryFiles libraries_;
  app::RemoteOptions remote_;
  std::unordered_set<Resource*> resources_;
  std::unordered_map<uint64_t, int64_t> shared_;
};

using SessionRef = std::shared_ptr<OpenSession>;

// ClosedError is a Python subclass of UserError without a counterpart in C++.
[[noreturn]] void throw_closed(const std::string& what);

// A device argument: a session, or the text of a target.
SessionRef session_of(const py::object& device, const char* where);
target::Target target_of(const py::object& device, const char* where);

// Waits until `stream 0` of the session has finished, and reports its errors. For a remote session
// Ctrl-C ends the wait. Call without the GIL.
void wait_for(runtime::Session& session, runtime::Deadline deadline = {});

}  // namespace tapml::python
