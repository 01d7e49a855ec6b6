#include "session.h"

#include <pybind11/stl.h>

#include <chrono>

#include "app/platforms.h"
#include "base/strings.h"

namespace tapml::python {

namespace {

namespace chrono = std::chrono;

SessionRef open(const std::string& text, const std::string& token_file, const std::string& tls_ca,
                bool cache, const std::vector<std::string>& libraries,
                std::optional<double> request_seconds, bool insecure) {
  if (request_seconds && !(*request_seconds > 0 && *request_seconds <= 1e6)) {
    throw_user("the time limit is invalid", "device(request_seconds=...)",
               "seconds above 0, or None", std::to_string(*request_seconds));
  }
  return without_interpreter([&] {
    target::Target target = target::parse_target(text);
    app::LibraryFiles files;
    files.files = libraries;
    app::CacheOptions caching;
    caching.off = !cache;
    app::RemoteOptions remote;
    remote.token_file = token_file;
    remote.tls_ca = tls_ca;
    remote.insecure = insecure;
    remote.request_seconds = request_seconds.value_or(0);
    // Polled by the waiting thread: Python interrupts only its main thread.
    remote.interrupted = [] { return interrupt_of_this_thread().load(); };
    std::shared_ptr<runtime::Session> session =
        app::open_session(target, caching, files.load(), remote);
    return std::make_shared<OpenSession>(std::move(target), std::move(session), std::move(files),
                                         std::move(remote));
  });
}

py::dict info_of(const OpenSession& open) {
  const auto session = open.use();
  const DeviceInfo& info = session->info();
  auto names = [](const std::set<DType>& dtypes) {
    py::list list;
    for (DType dtype : dtypes) list.append(dtype_name(dtype));
    return py::tuple(list);
  };
  py::dict dict;
  dict["platform"] = info.platform;
  dict["name"] = info.name;
  dict["version"] = info.version;
  dict["threads"] = info.limits.threads;
  dict["max_workgroup_threads"] = info.limits.max_workgroup_threads;
  dict["max_local_memory"] = info.limits.max_local_memory;
  dict["max_binding_bytes"] = info.limits.max_binding_bytes;
  dict["max_allocation_bytes"] = info.limits.max_allocation_bytes;
  dict["compute_dtypes"] = names(info.features.compute_dtypes);
  dict["storage_dtypes"] = names(info.features.storage_dtypes);
  return dict;
}

// The result of Session.snapshot(); only valid for its own session.
struct Snapshot {
  std::weak_ptr<runtime::Session> session;
  runtime::Session::Snapshot contents;
};

void synchronize(const SessionRef& open, std::optional<double> seconds) {
  if (seconds && !(*seconds >= 0 && *seconds < 1e9)) {
    throw_user("the time limit is invalid", "synchronize(timeout=...)", "seconds from 0, or None",
               std::to_string(*seconds));
  }
  auto session = open->use();
  without_interpreter([&] {
    runtime::Deadline deadline;
    if (seconds) {
      deadline = chrono::steady_clock::now() +
                 chrono::duration_cast<chrono::nanoseconds>(chrono::duration<double>(*seconds));
    }
    wait_for(*session, deadline);
  });
}

std::unique_ptr<Snapshot> snapshot(const SessionRef& open) {
  auto session = open->use();
  return without_interpreter([&] {
    auto taken = std::make_unique<Snapshot>();
    taken->session = session;
    taken->contents = unwrap(session->snapshot());
    return taken;
  });
}

void restore(const SessionRef& open, const Snapshot& snapshot) {
  auto session = open->use();
  if (snapshot.session.lock() != session) {
    throw_user("the snapshot is of another session", "restore(snapshot)",
               "one that this session's snapshot() returned");
  }
  without_interpreter([&] { return session->restore(snapshot.contents); });
}

std::string repr(const OpenSession& open) {
  return "<tapml.Session " + in_quotes(open.target().text) + (open.closed() ? ", closed>" : ">");
}

std::string devices_json() {
  return without_interpreter([] {
    std::vector<Json> list;
    for (const app::PlatformStatus& status : app::list_platforms()) {
      list.push_back(app::platform_json(status));
    }
    return Json::array(std::move(list)).dump();
  });
}

}  // namespace

void throw_closed(const std::string& what) {
  py::object type = py::module_::import("tapml.errors").attr("ClosedError");
  py::object made = type("the session of this " + what + " was closed", "", "an open session", "",
                         "open a new one");
  PyErr_SetObject(type.ptr(), made.ptr());
  throw py::error_already_set();
}

std::shared_ptr<runtime::Session> OpenSession::use() const {
  if (!session_) throw_closed("object");
  return session_;
}

void OpenSession::close() {
  // Dropping one resource may drop others.
  while (!resources_.empty()) {
    Resource* resource = *resources_.begin();
    resources_.erase(resources_.begin());
    resource->drop();
  }
  std::shared_ptr<runtime::Session> last = std::move(session_);
  if (!last) return;
  // Closing a remote session waits for the server; pipes wait for their process.
  py::gil_scoped_release unlocked;
  last.reset();
}

void OpenSession::unshare(uint64_t storage) {
  auto found = shared_.find(storage);
  if (found != shared_.end() && --found->second == 0) shared_.erase(found);
}

SessionRef session_of(const py::object& device, const char* where) {
  if (py::isinstance<OpenSession>(device)) return device.cast<SessionRef>();
  throw_user("not a device", where, "a tapml.Session, as tapml.cpu() or tapml.device() opens it",
             py::str(py::type::of(device).attr("__name__")).cast<std::string>());
}

target::Target target_of(const py::object& device, const char* where) {
  if (py::isinstance<py::str>(device)) {
    return target::parse_target(device.cast<std::string>());
  }
  return session_of(device, where)->target();
}

void wait_for(runtime::Session& session, runtime::Deadline deadline) {
  unwrap(session.synchronize(runtime::kDefaultStream, deadline));
}

void bind_session(py::module_& module) {
  py::class_<Snapshot> copies(module, "Snapshot", "A copy of all memory of a session.");
  py::class_<OpenSession, SessionRef>(module, "Session", py::is_final(), R"doc(
An open device, in this process or at a remote endpoint.

``tapml.cpu()``, ``tapml.opencl()``, ``tapml.vulkan()`` and ``tapml.device(target)`` open one. All
methods may be called from several threads at once. Closing a session closes everything on it.)doc")
      .def_property_readonly(
          "target", [](const OpenSession& open) { return open.target().text; },
          "The target as written: ``\"opencl:device=0@unix:device.sock\"``.")
      .def_property_readonly(
          "platform", [](const OpenSession& open) { return open.target().description.platform; },
          "``\"cpu\"``, ``\"opencl\"``, ...")
      .def_property_readonly(
          "endpoint", [](const OpenSession& open) { return open.target().endpoint; },
          "The device's endpoint; empty for a device of this process.")
      .def_property_readonly("closed", &OpenSession::closed)
      .def_property_readonly("info", &info_of, "The device's description of itself.")
      .def("synchronize", &synchronize, py::arg("timeout") = py::none(), R"doc(
Waits until all enqueued work is done, and raises its errors.

Raises tapml.TimeoutError after ``timeout`` seconds.)doc")
      .def("snapshot", &snapshot, "Copies the memory of everything on the session.")
      .def("restore", &restore, py::arg("snapshot"), R"doc(
Restores the bytes of a snapshot.

Later allocations are not changed; memory released since stays released.)doc")
      .def("close", &OpenSession::close, R"doc(
Closes the session; tensors and libraries on it raise tapml.ClosedError afterwards.

NumPy arrays and DLPack capsules that share the memory of its tensors stay usable. Closing again
does nothing.)doc")
      .def("__enter__", [](SessionRef open) { return open; })
      .def("__exit__", [](OpenSession& open, const py::args&) { open.close(); })
      .def("__repr__", &repr);
  module.def("open_session", &open, py::arg("target"), py::arg("token_file"), py::arg("tls_ca"),
             py::arg("cache"), py::arg("libraries"), py::arg("request_seconds") = py::none(),
             py::arg("insecure") = false);
  module.def("devices_json", &devices_json);
}

}  // namespace tapml::python
