#include "rpc/session/server_calls.h"

#include <algorithm>
#include <tuple>

#include "exec/executable_file.h"
#include "rpc/session/server_dispatch.h"
#include "rpc/session/server_timing.h"
#include "rpc/session/wire_value.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

using runtime::BufferRange;
using runtime::Storage;
using wire::HandleKind;

Status CallService::handle(const wire::OpenVm& request, std::vector<std::byte> bytes) noexcept {
  const uint64_t id = request.id();
  TAPML_TRY(channel_.awaited());
  TAPML_TRY(device_.handles().check_new(HandleKind::VirtualMachine, id));
  TAPML_TRY(device_.code().check(bytes.size()));
  auto image = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  TAPML_ASSIGN(ExecutableFile file, read_executable(*image, image, "the executable sent"));
  auto executable = std::make_shared<const Executable>(std::move(file.executable));
  channel_.note("VM " + std::to_string(id) + " for " + executable->target);
  TAPML_ASSIGN(auto vm, runtime::LocalVirtualMachine::create(
                            device_.session(), std::move(executable), {}, channel_.deadline()));
  vms_[id] = std::make_shared<ServedVm>();
  vms_[id]->vm = std::move(vm);
  device_.code().hold_vm(id, image->size());
  device_.handles().add(HandleKind::VirtualMachine, id);
  return {};
}

Status CallService::take_arguments(ServedCall& call, const wire::Call& request) noexcept {
  uint64_t named = 0;
  const StorageOf storage_of = [&](uint64_t name) -> Result<std::shared_ptr<Storage>> {
    TAPML_ASSIGN(auto storage, device_.buffer(name));
    call.names.add(storage.get(), named = name);
    return storage;
  };
  call.arguments.begin(request.after());
  const size_t count = size_of(request.arguments());
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
    const wire::Value& value = *request.arguments()->Get(i);
    if (value.kind() == wire::ValueKind::Cached) {
      if (value.offset() < 0) {
        return fail(protocol_error("the number of unchanged arguments is negative"));
      }
      TAPML_TRY(call.arguments.add_same(static_cast<uint64_t>(value.offset()) + 1));
    } else {
      TAPML_ASSIGN(runtime::Value argument, get_value(value, storage_of, channel_.copies()));
      call.arguments.add(std::move(argument), named);
    }
  }
  call.arguments.end(call.request);
  return {};
}

void CallService::name_arguments(ServedCall& call) {
  if (!call.names_whole) call.arguments.put_names(call.names);
  call.names_whole = true;
}

Status CallService::call(uint64_t& id, const wire::Call& request) noexcept {
  ServedCall call{.vm = request.vm(), .request = id};
  Status status = run(call, request);
  id = call.request;
  return status;
}

Status CallService::run(ServedCall& call, const wire::Call& request) noexcept {
  if (request.cancelled()) {
    return fail(platform_error(PlatformFault::kCancelled, "the call was cancelled"));
  }
  TAPML_TRY(channel_.awaited());
  TAPML_TRY(channel_.surface());
  TAPML_TRY(device_.handles().known(HandleKind::VirtualMachine, request.vm()));
  auto found = vms_.find(request.vm());
  if (found == vms_.end()) return fail(runtime::unknown_handle("VM", request.vm()));
  if (call_) {
    return fail(
        internal_error("a call was made while another one is suspended at a dispatched call"));
  }
  // The client may release it while the call is suspended.
  const std::shared_ptr<ServedVm> served = found->second;
  runtime::LocalVirtualMachine& vm = *served->vm;
  call.function = text_of(request.function(), channel_.copies());
  call.released = device_.released_buffers();
  if (auto last = served->arguments.find(call.function); last != served->arguments.end()) {
    std::swap(call.arguments, last->second);
  }
  TAPML_TRY(take_arguments(call, request));
  if (call.function != last_call_) channel_.note("calls of " + (last_call_ = call.function));
  std::optional<Dispatch> dispatch;
  if (request.dispatch()) {
    name_arguments(call);
    dispatch.emplace(*this, vm, *request.dispatch(), call.names);
    TAPML_TRY(dispatch->begin(*request.dispatch()));
  }
  if (request.capture() && request.timed()) {
    return fail(internal_error("a call cannot be both captured and timed"));
  }
  if (request.capture()) TAPML_TRY(begin_capture(*request.capture(), *served));
  std::optional<Timing> timing;
  if (request.timed()) vm.call_point().set_observer(&timing.emplace(*this).observer());
  if (channel_.copies().overdrawn()) return {};
  if (dispatch) vm.call_point().set_dispatcher(&*dispatch, dispatch->sites());
  call_ = &call;
  vm.set_interrupt(&channel_.link().interrupt());
  vm.call_point().set_counter(&channel_.link().done());
  vm.set_call_limit(request.call_limit());
  auto result = vm.call(call.function, call.arguments.values(), channel_.deadline());
  // On the same machine the client wants a core once it is answered, until it asks for more.
  device_.session().device().idle(channel_.link().wake_fd());
  vm.set_interrupt(nullptr);
  vm.call_point().set_counter(nullptr);
  vm.call_point().set_observer(nullptr);
  vm.call_point().set_dispatcher(nullptr);
  if (timing && result) {
    if (Status sent = timing->flush(); !sent) result = fail(std::move(sent).error());
  }
  call_ = nullptr;
  if (!result) return fail(std::move(result).error());
  TAPML_TRY(answer(call, request, *result, dispatch ? &*dispatch : nullptr));
  if (channel_.has(kCapabilityRecall)) remember(*served, call);
  return {};
}

Status CallService::answer(ServedCall& call, const wire::Call& request,
                           const runtime::Value& result, const Dispatch* dispatch) noexcept {
  std::span<const std::byte> read;
  if (request.read() > 0) {
    TAPML_ASSIGN(read, read_result(result, call.function, request.read() - 1));
  }
  std::vector<std::shared_ptr<Storage>> made;
  auto name_of = [&](const std::shared_ptr<Storage>& storage) -> Result<uint64_t> {
    name_arguments(call);
    if (const auto known = call.names.find(storage.get())) return *known;
    const uint64_t name = request.first() + made.size();
    if (made.size() >= request.count()) {
      return fail(platform_error(PlatformFault::kLimit, "the result uses more buffers than the " +
                                                            std::to_string(request.count()) +
                                                            " that may be named"));
    }
    TAPML_TRY(device_.handles().check_new(HandleKind::Buffer, name));
    call.names.add(storage.get(), name);
    made.push_back(storage);
    return name;
  };
  std::span<const runtime::Value> recalled;
  if (channel_.has(kCapabilityRecall)) recalled = call.arguments.values();
  auto value = put_value(
      channel_.builder(), result, name_of, [&] { return "the result of " + call.function; },
      recalled);
  if (!value) {
    channel_.builder().Clear();
    return fail(std::move(value).error());
  }
  std::vector<int64_t> sizes;
  for (const auto& storage : made) sizes.push_back(storage->bytes());
  std::vector<wire::Written> written;
  if (dispatch) written = dispatch->written();
  std::ignore = channel_.reply(
      call.request,
      wire::CreateResult(channel_.builder(), *value, channel_.builder().CreateVector(sizes),
                         channel_.builder().CreateVectorOfStructs(written)),
      read);
  // The client continues meanwhile.
  for (size_t i = 0; i < made.size(); ++i) {
    device_.name_buffer(request.first() + i, std::move(made[i]));
  }
  return {};
}

void CallService::remember(ServedVm& served, ServedCall& call) noexcept {
  call.arguments.call_done();
  // The client may have released arguments while the call was suspended.
  if (device_.released_buffers() != call.released) {
    call.arguments.forget([&](uint64_t name, const Storage& storage) {
      return device_.find_buffer(name) != &storage;
    });
  }
  served.arguments[call.function] = std::move(call.arguments);
}

// Nothing if the client must read it separately, if only to learn that there is none.
Result<std::span<const std::byte>> CallService::read_result(const runtime::Value& result,
                                                            const std::string& function,
                                                            size_t field) noexcept {
  std::span<const std::byte> none;
  const auto tensor = runtime::result_tensor(result, function, field);
  if (!tensor || !(*tensor)->storage) return none;
  const auto bytes = static_cast<size_t>((*tensor)->byte_size());
  if (bytes == 0 || bytes > kPartBytes) return none;
  const BufferRange from{(*tensor)->storage->buffer(), (*tensor)->offset};
  if (const std::byte* there = device_.session().host_address(from.buffer)) {
    TAPML_TRY(device_.session().synchronize(runtime::kDefaultStream, channel_.deadline()));
    return std::span(there + from.offset, bytes);
  }
  const auto copy = channel_.staging(bytes);
  TAPML_TRY(device_.session().read(runtime::kDefaultStream, from, copy, channel_.deadline()));
  return std::span<const std::byte>(copy);
}

// --- suspended calls ---------------------------------------------------------------------------

Status CallService::serve_suspended(ServedCall& call) noexcept {
  // It is used again once the call is done.
  ServerChannel::Frame frame = channel_.put_aside();
  call.suspended = true;
  channel_.work(false);
  while (call.suspended && !channel_.broken()) {
    if (Status served = serve_frame_(); !served) channel_.break_with(std::move(served).error());
  }
  channel_.work(true);
  call.suspended = false;
  channel_.take_up(std::move(frame));
  if (channel_.broken()) return fail(*channel_.broken());
  if (call.failed) return fail(std::move(*call.failed));
  if (call.request == 0) {
    return fail(platform_error(PlatformFault::kCancelled, "the client abandoned the run"));
  }
  return {};
}

Status CallService::resume(uint64_t id, const wire::Resume& request) noexcept {
  if (!call_ || !call_->suspended || call_->vm != request.vm()) {
    // A client that gives up cannot know how far the VM got.
    if (request.abandoned()) return {};
    return fail(internal_error("a call was resumed that is not suspended at a dispatched call"));
  }
  call_->suspended = false;
  call_->request = request.abandoned() ? 0 : id;
  if (Status written = channel_.surface(); !written) call_->failed = std::move(written).error();
  return {};
}

// --- names -------------------------------------------------------------------------------------

void CallService::release_vm(uint64_t id) noexcept {
  vms_.erase(id);
  device_.code().release_vm(id);
  if (call_ && call_->suspended && call_->vm == id) {
    call_->request = 0;
    call_->suspended = false;
  }
}

// The next call cannot omit arguments that the client has released.
void CallService::release_buffer(uint64_t id) noexcept {
  for (auto& [vm, served] : vms_) {
    for (auto& [function, arguments] : served->arguments) {
      arguments.forget([=](uint64_t name, const Storage&) { return name == id; });
    }
  }
}

}  // namespace tapml::rpc
