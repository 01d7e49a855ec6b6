// Sessions: a device, here or elsewhere, and everything that Python holds on it.
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

// Something on a session that goes when the session is closed. Its methods, and all of
// OpenSession's, are called with the interpreter locked, which orders them.
class Resource {
 public:
  virtual ~Resource() = default;
  virtual void drop() noexcept = 0;
};

// A session as Python knows it. Work takes a reference of the runtime's session for as long as it
// goes on, so that closing on one thread takes nothing from under another.
class OpenSession : public std::enable_shared_from_this<OpenSession> {
 public:
  OpenSession(target::Target target, std::shared_ptr<runtime::Session> session,
              app::LibraryFiles libraries, app::RemoteOptions remote)
      : target_(std::move(target)),
        session_(std::move(session)),
        libraries_(std::move(libraries)),
        remote_(std::move(remote)) {}

  const target::Target& target() const { return target_; }
  // What another session like this one is opened with.
  const app::LibraryFiles& libraries() const { return libraries_; }
  const app::RemoteOptions& remote() const { return remote_; }
  bool closed() const { return !session_; }
  // tapml.ClosedError after close().
  std::shared_ptr<runtime::Session> use() const;
  void close();

  void add(Resource* resource) { resources_.insert(resource); }
  void remove(Resource* resource) { resources_.erase(resource); }

  // Memory that Python code may write behind the session's back: exported or shared arrays. Before
  // a call each of its storages counts as written, so that no copy of it is trusted.
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

// The exception's kind has no counterpart in C++: a UserError of its own class.
[[noreturn]] void throw_closed(const std::string& what);

// What is given as a device: a session, or the text of a target.
SessionRef session_of(const py::object& device, const char* where);
target::Target target_of(const py::object& device, const char* where);

// Everything that `stream 0` of the session has to do is done afterwards, or an error. Of a remote
// session Ctrl-C is noticed meanwhile. Not with the interpreter locked.
void wait_for(runtime::Session& session, runtime::Deadline deadline = {});

}  // namespace tapml::python
