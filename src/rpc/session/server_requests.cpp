// Handlers of a session's requests.
#include <algorithm>
#include <tuple>

#include "exec/executable_file.h"
#include "rpc/session/server_dispatch.h"
#include "rpc/session/server_timing.h"
#include "rpc/session/wire_value.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::EventId;
using runtime::KernelId;
using runtime::ModuleId;
using runtime::Storage;
using runtime::StreamId;
using wire::HandleKind;

Status ServerCore::handle(const wire::Allocate& request) noexcept {
  const uint64_t id = request.id();
  Status status = make(HandleKind::Buffer, id, [&]() -> Status {
    if (request.bytes() < 0) return fail(runtime::negative_allocation(request.bytes()));
    const BufferId buffer{session_->new_handle()};
    TAPML_TRY(session_->allocate(buffer, request.bytes(), deadline_));
    TAPML_ASSIGN(buffers_[id], Storage::adopt(*session_, buffer, request.bytes()));
    return {};
  });
  // A client that waits for the answer knows that the name is free.
  if (!status && request.reply() && !buffers_.contains(id)) {
    handles_.erase(HandleKind::Buffer, id);
  }
  return status;
}

Status ServerCore::handle(const wire::LoadModule& request) noexcept {
  const uint64_t id = request.id();
  TAPML_ASSIGN(std::vector<std::byte> bytes, take_blob(request.blob()));
  TAPML_TRY(awaited());
  TAPML_TRY(handles_.check_new(HandleKind::Module, id));
  TAPML_TRY(code_.check(bytes.size()));
  ModuleBlob blob;
  blob.bytes = std::move(bytes);
  blob.platform = text_of(request.platform(), copies_);
  blob.format = text_of(request.format(), copies_);
  blob.cpu = text_of(request.cpu(), copies_);
  blob.features = text_of(request.features(), copies_);
  for (flatbuffers::uoffset_t i = 0; request.entries() && i < request.entries()->size(); ++i) {
    blob.entries.push_back(text_of(request.entries()->Get(i), copies_));
    if (copies_.overdrawn()) return {};
  }
  TAPML_TRY(session_->load_module(ModuleId{id}, blob, deadline_));
  note("module " + std::to_string(id) + ": " + std::to_string(blob.bytes.size()) + " bytes for " +
       blob.platform + ", " + std::to_string(blob.entries.size()) + " kernels");
  code_.hold_module(id, blob.bytes.size());
  handles_.add(HandleKind::Module, id);
  return {};
}

Status ServerCore::handle(const wire::GetKernel& request) noexcept {
  const uint64_t id = request.id();
  auto get = [&]() -> Status {
    TAPML_TRY(handles_.known(HandleKind::Module, request.module_()));
    return session_->get_kernel(KernelId{id}, ModuleId{request.module_()},
                                text_of(request.entry(), copies_), deadline_);
  };
  Status status = make(HandleKind::Kernel, id, get);
  if (!status && request.reply()) {
    if (handles_.is_failed(HandleKind::Kernel, id)) handles_.erase(HandleKind::Kernel, id);
  }
  return status;
}

Status ServerCore::handle(const wire::CreateStream& request) noexcept {
  return make(HandleKind::Stream, request.id(),
              [&] { return session_->create_stream(StreamId{request.id()}); });
}

Result<std::shared_ptr<Storage>> ServerCore::buffer(uint64_t id) noexcept {
  auto found = buffers_.find(id);
  if (found != buffers_.end()) return found->second;
  TAPML_TRY(handles_.known(HandleKind::Buffer, id));
  return fail(runtime::unknown_handle("buffer", id));
}

Result<BufferRange> ServerCore::place(uint64_t id, int64_t offset, int64_t size,
                                      const char* what) noexcept {
  TAPML_ASSIGN(const auto storage, buffer(id));
  TAPML_TRY(runtime::check_range({BufferId{id}, offset}, size, storage->bytes(), what));
  return BufferRange{storage->buffer(), offset};
}

Result<BufferRange> ServerCore::place_to(uint64_t id, int64_t offset, int64_t size,
                                         const char* what) noexcept {
  TAPML_ASSIGN(const BufferRange range, place(id, offset, size, what));
  buffers_.at(id)->written(offset, size);
  return range;
}

Status ServerCore::handle(const wire::Write& request) noexcept {
  const StreamId stream{request.stream()};
  const auto* bytes = request.bytes();
  const uint64_t unpacked = bytes ? 0 : request.unpacked();
  const uint64_t size = bytes ? bytes->size() : unpacked > 0 ? unpacked : payload_;
  auto to = place_to(request.buffer(), request.offset(), static_cast<int64_t>(size), "write");
  Status status = handles_.known(HandleKind::Stream, request.stream());
  if (status && !to) status = fail(to.error());
  if (status && unpacked > 0) status = check_packed(size, size);
  if (bytes) {
    TAPML_TRY(status);
    return session_->write(stream, *to,
                           {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()});
  }
  if (!status) {
    std::ignore = skip_payload();
    return status;
  }
  if (unpacked > 0) {
    staging_.resize(std::max<size_t>(unpacked, kPartBytes));
    const auto part = std::span(staging_).first(static_cast<size_t>(unpacked));
    TAPML_TRY(take_packed(part));
    if (broken_) return {};
    return session_->write(stream, *to, part);
  }
  if (std::byte* there = session_->writable(stream, *to, static_cast<int64_t>(payload_))) {
    std::ignore = take({there, static_cast<size_t>(payload_)});
    return {};
  }
  while (payload_ > 0) {
    staging_.resize(kPartBytes);
    const auto part =
        std::span(staging_).first(static_cast<size_t>(std::min<uint64_t>(payload_, kPartBytes)));
    if (!take(part)) return {};
    TAPML_TRY(session_->write(stream, *to, part));
    to->offset += static_cast<int64_t>(part.size());
  }
  return {};
}

Status ServerCore::handle(const wire::Copy& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_ASSIGN(const BufferRange from,
               place(request.from(), request.from_offset(), request.size(), "copy"));
  TAPML_ASSIGN(const BufferRange to,
               place_to(request.to(), request.to_offset(), request.size(), "copy"));
  return session_->copy(StreamId{request.stream()}, from, to, request.size());
}

Status ServerCore::handle(const wire::FillZero& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_ASSIGN(const BufferRange to,
               place_to(request.buffer(), request.offset(), request.size(), "fill"));
  return session_->fill_zero(StreamId{request.stream()}, to, request.size());
}

Status ServerCore::handle(const wire::Launch& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_TRY(handles_.known(HandleKind::Kernel, request.kernel()));
  const size_t count = size_of(request.buffers());
  TAPML_TRY(runtime::check_launch_buffers(count));
  BufferRange ranges[runtime::kMaxLaunchBuffers];
  for (size_t i = 0; i < count; ++i) {
    const wire::Range* range = request.buffers()->Get(static_cast<flatbuffers::uoffset_t>(i));
    TAPML_ASSIGN(const auto storage, buffer(range->buffer()));
    storage->written();  // which of them it writes is unknown
    ranges[i] = {storage->buffer(), range->offset()};
  }
  std::vector<int64_t> scalars;
  if (request.scalars()) {
    if (!copies_.take(uint64_t{request.scalars()->size()} * sizeof(int64_t))) return {};
    scalars.assign(request.scalars()->begin(), request.scalars()->end());
  }
  runtime::LaunchRequest launch;
  launch.kernel = KernelId{request.kernel()};
  launch.buffers = std::span(ranges).first(count);
  launch.scalars = scalars;
  launch.extent = request.extent();
  launch.workgroup_threads = request.workgroup_threads();
  launch.grid = {request.groups_y(), request.groups_z()};
  SharedSize shared[kMostSharedBuffers];
  const size_t sizes = size_of(request.shared());
  if (sizes > kMostSharedBuffers) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a launch has " + std::to_string(sizes) +
                                   " shared buffers of its own size; the session allows " +
                                   std::to_string(kMostSharedBuffers)));
  }
  for (size_t i = 0; i < sizes; ++i) {
    const wire::SharedSize* size = request.shared()->Get(static_cast<flatbuffers::uoffset_t>(i));
    shared[i] = {size->elements(), size->bytes()};
  }
  launch.shared = std::span(shared).first(sizes);
  return session_->launch(StreamId{request.stream()}, launch);
}

Status ServerCore::handle(const wire::Record& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  const uint64_t id = request.event();
  if (!handles_.contains(HandleKind::Event, id)) {
    return make(HandleKind::Event, id,
                [&] { return session_->record(StreamId{request.stream()}, EventId{id}); });
  }
  return session_->record(StreamId{request.stream()}, EventId{id});
}

Status ServerCore::handle(const wire::WaitEvent& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_TRY(handles_.known(HandleKind::Event, request.event()));
  return session_->wait_event(StreamId{request.stream()}, EventId{request.event()});
}

Status ServerCore::handle(const wire::Synchronize& request) noexcept {
  shorten_deadline(request.timeout());
  TAPML_TRY(awaited());
  TAPML_TRY(surface());
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  return session_->synchronize(StreamId{request.stream()}, deadline_);
}

Status ServerCore::read(uint64_t id, const wire::Read& request) noexcept {
  shorten_deadline(request.timeout());
  TAPML_TRY(awaited());
  TAPML_TRY(surface());
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_ASSIGN(BufferRange from, place(request.buffer(), request.offset(), request.size(), "read"));
  const StreamId stream{request.stream()};
  const std::byte* there = session_->host_address(from.buffer);
  TAPML_TRY(session_->synchronize(stream, deadline_));
  for (int64_t done = 0; done < request.size();) {
    if (done > 0) {
      link_.look();
      TAPML_TRY(awaited());
    }
    const auto size = static_cast<size_t>(
        std::min<int64_t>(request.size() - done, static_cast<int64_t>(kPartBytes)));
    std::span<const std::byte> part;
    if (there) {
      part = {there + from.offset, size};
    } else {
      staging_.resize(kPartBytes);
      const auto copy = std::span(staging_).first(size);
      TAPML_TRY(session_->read(stream, from, copy, deadline_));
      part = copy;
    }
    const int64_t at = done;
    done += static_cast<int64_t>(size);
    from.offset += static_cast<int64_t>(size);
    const std::span<const std::byte> packed = packer_.pack(part, packed_);
    const Clock::time_point start = Clock::now();
    const bool last = done == request.size();
    const bool sent = packed.empty()
                          ? reply(id, wire::CreateData(builder_, at, last), part)
                          : reply(id, wire::CreateData(builder_, at, last, part.size()), packed);
    if (!sent) return {};
    packer_.sent(packed.empty() ? part.size() : packed.size(), Clock::now() - start);
  }
  return {};
}

Status ServerCore::handle(const wire::OpenVm& request) noexcept {
  const uint64_t id = request.id();
  TAPML_ASSIGN(std::vector<std::byte> bytes, take_blob(request.blob()));
  TAPML_TRY(awaited());
  TAPML_TRY(handles_.check_new(HandleKind::VirtualMachine, id));
  TAPML_TRY(code_.check(bytes.size()));
  auto image = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  TAPML_ASSIGN(ExecutableFile file, read_executable(*image, image, "the executable sent"));
  auto executable = std::make_shared<const Executable>(std::move(file.executable));
  note("VM " + std::to_string(id) + " for " + executable->target);
  TAPML_ASSIGN(auto vm, runtime::LocalVirtualMachine::create(*session_, std::move(executable), {},
                                                             deadline_));
  vms_[id] = std::make_shared<ServedVm>();
  vms_[id]->vm = std::move(vm);
  code_.hold_vm(id, image->size());
  handles_.add(HandleKind::VirtualMachine, id);
  return {};
}

Status ServerCore::take_arguments(ServedCall& call, const wire::Call& request) noexcept {
  uint64_t named = 0;
  const StorageOf storage_of = [&](uint64_t name) -> Result<std::shared_ptr<Storage>> {
    TAPML_ASSIGN(auto storage, buffer(name));
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
      TAPML_ASSIGN(runtime::Value argument, get_value(value, storage_of, copies_));
      call.arguments.add(std::move(argument), named);
    }
  }
  call.arguments.end(call.request);
  return {};
}

void ServerCore::name_arguments(ServedCall& call) {
  if (!call.names_whole) call.arguments.put_names(call.names);
  call.names_whole = true;
}

// Answers on success.
Status ServerCore::call(ServedCall& call, const wire::Call& request) noexcept {
  if (request.cancelled()) {
    return fail(platform_error(PlatformFault::kCancelled, "the call was cancelled"));
  }
  TAPML_TRY(awaited());
  TAPML_TRY(surface());
  TAPML_TRY(handles_.known(HandleKind::VirtualMachine, request.vm()));
  auto found = vms_.find(request.vm());
  if (found == vms_.end()) return fail(runtime::unknown_handle("VM", request.vm()));
  if (call_) {
    return fail(
        internal_error("a call was made while another one is suspended at a dispatched call"));
  }
  // The client may release it while the call is suspended.
  const std::shared_ptr<ServedVm> served = found->second;
  runtime::LocalVirtualMachine& vm = *served->vm;
  call.function = text_of(request.function(), copies_);
  call.released = released_;
  if (auto last = served->arguments.find(call.function); last != served->arguments.end()) {
    std::swap(call.arguments, last->second);
  }
  TAPML_TRY(take_arguments(call, request));
  if (options_.recent && call.function != last_call_) {
    note("calls of " + (last_call_ = call.function));
  }
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
  if (copies_.overdrawn()) return {};
  if (dispatch) vm.call_point().set_dispatcher(&*dispatch, dispatch->sites());
  call_ = &call;
  vm.set_interrupt(&link_.interrupt());
  vm.call_point().set_counter(&link_.done());
  vm.set_call_limit(request.call_limit());
  auto result = vm.call(call.function, call.arguments.values(), deadline_);
  // On the same machine the client wants a core once it is answered, until it asks for more.
  session_->device().idle(link_.wake_fd());
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
  if ((capabilities_ & kCapabilityRecall) != 0) remember(*served, call);
  return {};
}

Status ServerCore::answer(ServedCall& call, const wire::Call& request, const runtime::Value& result,
                          const Dispatch* dispatch) noexcept {
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
    TAPML_TRY(handles_.check_new(HandleKind::Buffer, name));
    call.names.add(storage.get(), name);
    made.push_back(storage);
    return name;
  };
  std::span<const runtime::Value> recalled;
  if ((capabilities_ & kCapabilityRecall) != 0) recalled = call.arguments.values();
  auto value = put_value(
      builder_, result, name_of, [&] { return "the result of " + call.function; }, recalled);
  if (!value) {
    builder_.Clear();
    return fail(std::move(value).error());
  }
  std::vector<int64_t> sizes;
  for (const auto& storage : made) sizes.push_back(storage->bytes());
  std::vector<wire::Written> written;
  if (dispatch) written = dispatch->written();
  std::ignore = reply(call.request,
                      wire::CreateResult(builder_, *value, builder_.CreateVector(sizes),
                                         builder_.CreateVectorOfStructs(written)),
                      read);
  // The client continues meanwhile.
  for (size_t i = 0; i < made.size(); ++i) {
    handles_.add(HandleKind::Buffer, request.first() + i);
    buffers_[request.first() + i] = std::move(made[i]);
  }
  return {};
}

void ServerCore::remember(ServedVm& served, ServedCall& call) noexcept {
  call.arguments.call_done();
  // The client may have released arguments while the call was suspended.
  if (released_ != call.released) {
    call.arguments.forget([&](uint64_t name, const Storage& storage) {
      const auto found = buffers_.find(name);
      return found == buffers_.end() || found->second.get() != &storage;
    });
  }
  served.arguments[call.function] = std::move(call.arguments);
}

// Nothing if the client must read it separately, if only to learn that there is none.
Result<std::span<const std::byte>> ServerCore::read_result(const runtime::Value& result,
                                                           const std::string& function,
                                                           size_t field) noexcept {
  std::span<const std::byte> none;
  const auto tensor = runtime::result_tensor(result, function, field);
  if (!tensor || !(*tensor)->storage) return none;
  const auto bytes = static_cast<size_t>((*tensor)->byte_size());
  if (bytes == 0 || bytes > kPartBytes) return none;
  const BufferRange from{(*tensor)->storage->buffer(), (*tensor)->offset};
  if (const std::byte* there = session_->host_address(from.buffer)) {
    TAPML_TRY(session_->synchronize(runtime::kDefaultStream, deadline_));
    return std::span(there + from.offset, bytes);
  }
  staging_.resize(kPartBytes);
  const auto copy = std::span(staging_).first(bytes);
  TAPML_TRY(session_->read(runtime::kDefaultStream, from, copy, deadline_));
  return std::span<const std::byte>(copy);
}

}  // namespace tapml::rpc
