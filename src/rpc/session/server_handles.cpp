// Releases names of the client.
#include <tuple>

#include "rpc/session/server_dispatch.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

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
  // The next call cannot omit arguments that the client has released.
  for (auto& [vm, served] : vms_) {
    for (auto& [function, arguments] : served->arguments) {
      arguments.forget([=](uint64_t name, const runtime::Storage&) { return name == id; });
    }
  }
}

void ServerCore::release(wire::HandleKind kind, uint64_t id) noexcept {
  if (kind == wire::HandleKind::Stream && id == 0) return;
  // The session keeps its events, which pending work may need: they still count.
  const bool stays = kind == wire::HandleKind::Event && !handles_.is_failed(kind, id);
  if (!handles_.erase(kind, id, stays)) return;
  switch (kind) {
    case wire::HandleKind::Buffer:
      release_buffer(id);
      break;
    case wire::HandleKind::Module:
      session_->unload_module(runtime::ModuleId{id});
      code_.release_module(id);
      break;
    case wire::HandleKind::Stream:
      session_->destroy_stream(runtime::StreamId{id});
      break;
    case wire::HandleKind::Blob:
      std::ignore = take_blob(id);
      break;
    case wire::HandleKind::VirtualMachine:
      vms_.erase(id);
      code_.release_vm(id);
      if (call_ && call_->suspended && call_->vm == id) {
        call_->request = 0;
        call_->suspended = false;
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
