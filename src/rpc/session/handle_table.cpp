#include "rpc/session/handle_table.h"

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
    case wire::HandleKind::VirtualMachine:
      return "VM";
  }
  return "handle";
}

}  // namespace

Status HandleTable::check_new(wire::HandleKind kind, uint64_t id) const noexcept {
  if (id >= kServerHandles) {
    return fail(internal_error(std::string("the name of a ") + handle_kind_text(kind) +
                               " is out of range: " + std::to_string(id)));
  }
  if (contains(kind, id)) return fail(runtime::handle_in_use(handle_kind_text(kind), id));
  if (count_ < most_) return {};
  return fail(platform_error(PlatformFault::kLimit, "the session has " + std::to_string(count_) +
                                                        " handles, which is the limit"));
}

Status HandleTable::known(wire::HandleKind kind, uint64_t id) const noexcept {
  auto found = names(kind).find(id);
  if (found == names(kind).end()) {
    return fail(runtime::unknown_handle(handle_kind_text(kind), id));
  }
  if (found->second) return fail(*found->second);
  return {};
}

bool HandleTable::contains(wire::HandleKind kind, uint64_t id) const noexcept {
  return names(kind).contains(id);
}

bool HandleTable::is_failed(wire::HandleKind kind, uint64_t id) const noexcept {
  auto found = names(kind).find(id);
  return found != names(kind).end() && found->second;
}

void HandleTable::add(wire::HandleKind kind, uint64_t id, std::optional<Error> error) {
  names(kind)[id] = std::move(error);
  ++count_;
}

void HandleTable::add_own(wire::HandleKind kind, uint64_t id) {
  names(kind).emplace(id, std::nullopt);
}

bool HandleTable::erase(wire::HandleKind kind, uint64_t id, bool counted) noexcept {
  if (names(kind).erase(id) == 0) return false;
  if (!counted) --count_;
  return true;
}

}  // namespace tapml::rpc
