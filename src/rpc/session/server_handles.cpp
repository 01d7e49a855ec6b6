// What the client has names for.
#include <tuple>

#include "rpc/session/server_dispatch.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

namespace {

const char* handle_kind_text(wire::HandleKind kind) {
  switch (kind) {
    case wire::HandleKind::Buffer:
      return "buffer";
    case wire::HandleKind::Module:
      return "module";
    case wire::HandleKind::Kernel:
      return "kernel";
    case wire::HandleKind::Stream:
      return "stream";
    case wire::HandleKind::Event:
      return "event";
    case wire::HandleKind::Blob:
      return "blob";
    case wire::HandleKind::Machine:
      return "machine";
  }
  return "handle";
}

}  // namespace

Status ServerCore::check_new(wire::HandleKind kind, uint64_t id) noexcept {
  if (id >= kServerHandles) {
    return fail(internal_error(std::string("the name of a ") + handle_kind_text(kind) +
                               " is out of range: " + std::to_string(id)));
  }
  if (names(kind).contains(id)) {
    return fail(runtime::handle_in_use(handle_kind_text(kind), id));
  }
  if (handles_ < options_.limits.handles) return {};
  return fail(platform_error(PlatformFault::kLimit, "the session has " + std::to_string(handles_) +
                                                        " handles, which is all that it may have"));
}

Status ServerCore::known(wire::HandleKind kind, uint64_t id) noexcept {
  auto found = names(kind).find(id);
  if (found == names(kind).end()) {
    return fail(runtime::unknown_handle(handle_kind_text(kind), id));
  }
  if (found->second) return fail(*found->second);
  return {};
}

Status ServerCore::handle(const wire::Release& request) noexcept {
  if (request.kind() > wire::HandleKind::MAX) return {};
  if (request.count() > kMostNames) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a release of " + std::to_string(request.count()) +
                                   " names; one may have " + std::to_string(kMostNames)));
  }
  for (uint32_t i = 0; i < request.count(); ++i) release(request.kind(), request.id() + i);
  return {};
}

void ServerCore::release_buffer(uint64_t id) noexcept {
  const auto node = buffers_.extract(id);
  ++released_;
  if (!node || node.mapped().use_count() == 1) return;
  // Another call is not to be had with what the client has no more.
  for (auto& [machine, served] : machines_) {
    for (auto& [function, arguments] : served->arguments) {
      arguments.forget([=](uint64_t name, const runtime::Storage&) { return name == id; });
    }
  }
}

void ServerCore::release(wire::HandleKind kind, uint64_t id) noexcept {
  if (kind == wire::HandleKind::Stream && id == 0) return;
  auto found = names(kind).find(id);
  if (found == names(kind).end()) return;
  // The session keeps its events, which work that is under way may need: they go on to count.
  if (kind != wire::HandleKind::Event || found->second) --handles_;
  names(kind).erase(found);
  switch (kind) {
    case wire::HandleKind::Buffer:
      release_buffer(id);
      break;
    case wire::HandleKind::Module:
      session_->unload_module(runtime::ModuleId{id});
      count_code(module_bytes_, id, 0);
      break;
    case wire::HandleKind::Stream:
      session_->destroy_stream(runtime::StreamId{id});
      break;
    case wire::HandleKind::Blob:
      std::ignore = take_blob(id);
      break;
    case wire::HandleKind::Machine:
      machines_.erase(id);
      count_code(machine_bytes_, id, 0);
      if (call_ && call_->stands && call_->machine == id) {
        call_->request = 0;
        call_->stands = false;
      }
      break;
    case wire::HandleKind::Kernel:
      session_->release_kernel(runtime::KernelId{id});
      break;
    case wire::HandleKind::Event:
      break;
  }
}

}  // namespace tapml::rpc
