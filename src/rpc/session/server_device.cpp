#include "rpc/session/server_device.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

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

namespace {

// Limit on events in one reply, well within that of a head.
constexpr size_t kMostEvents = 1 << 14;

}  // namespace

Status DeviceService::open(std::shared_ptr<runtime::Device> device) noexcept {
  TAPML_ASSIGN(session_, runtime::LocalSession::create(std::move(device)));
  session_->name_handles_from(kServerHandles);
  ServerLink& link = channel_.link();
  session_->set_interrupt([&link] { return link.interrupt().load(std::memory_order_relaxed); });
  session_->set_watcher([&link](const Work& work) {
    if (work.unit == "modules") link.report(work.done, work.total);
  });
  handles_.add_own(HandleKind::Stream, 0);
  return {};
}

Status DeviceService::handle(const wire::Allocate& request) noexcept {
  const uint64_t id = request.id();
  Status status = make(HandleKind::Buffer, id, [&]() -> Status {
    if (request.bytes() < 0) return fail(runtime::negative_allocation(request.bytes()));
    const BufferId buffer{session_->new_handle()};
    TAPML_TRY(session_->allocate(buffer, request.bytes(), channel_.deadline()));
    TAPML_ASSIGN(buffers_[id], Storage::adopt(*session_, buffer, request.bytes()));
    return {};
  });
  // A client that waits for the answer knows that the name is free.
  if (!status && request.reply() && !buffers_.contains(id)) {
    handles_.erase(HandleKind::Buffer, id);
  }
  return status;
}

Status DeviceService::handle(const wire::LoadModule& request,
                             std::vector<std::byte> bytes) noexcept {
  const uint64_t id = request.id();
  TAPML_TRY(channel_.awaited());
  TAPML_TRY(handles_.check_new(HandleKind::Module, id));
  TAPML_TRY(code_.check(bytes.size()));
  ModuleBlob blob;
  blob.bytes = std::move(bytes);
  blob.platform = text_of(request.platform(), channel_.copies());
  blob.format = text_of(request.format(), channel_.copies());
  blob.cpu = text_of(request.cpu(), channel_.copies());
  blob.features = text_of(request.features(), channel_.copies());
  for (flatbuffers::uoffset_t i = 0; request.entries() && i < request.entries()->size(); ++i) {
    blob.entries.push_back(text_of(request.entries()->Get(i), channel_.copies()));
    if (channel_.copies().overdrawn()) return {};
  }
  TAPML_TRY(session_->load_module(ModuleId{id}, blob, channel_.deadline()));
  channel_.note("module " + std::to_string(id) + ": " + std::to_string(blob.bytes.size()) +
                " bytes for " + blob.platform + ", " + std::to_string(blob.entries.size()) +
                " kernels");
  code_.hold_module(id, blob.bytes.size());
  handles_.add(HandleKind::Module, id);
  return {};
}

Status DeviceService::handle(const wire::GetKernel& request) noexcept {
  const uint64_t id = request.id();
  auto get = [&]() -> Status {
    TAPML_TRY(handles_.known(HandleKind::Module, request.module_()));
    return session_->get_kernel(KernelId{id}, ModuleId{request.module_()},
                                text_of(request.entry(), channel_.copies()), channel_.deadline());
  };
  Status status = make(HandleKind::Kernel, id, get);
  if (!status && request.reply()) {
    if (handles_.is_failed(HandleKind::Kernel, id)) handles_.erase(HandleKind::Kernel, id);
  }
  return status;
}

Status DeviceService::handle(const wire::CreateStream& request) noexcept {
  return make(HandleKind::Stream, request.id(),
              [&] { return session_->create_stream(StreamId{request.id()}); });
}

Result<std::shared_ptr<Storage>> DeviceService::buffer(uint64_t id) noexcept {
  auto found = buffers_.find(id);
  if (found != buffers_.end()) return found->second;
  TAPML_TRY(handles_.known(HandleKind::Buffer, id));
  return fail(runtime::unknown_handle("buffer", id));
}

Result<BufferRange> DeviceService::place(uint64_t id, int64_t offset, int64_t size,
                                         const char* what) noexcept {
  TAPML_ASSIGN(const auto storage, buffer(id));
  TAPML_TRY(runtime::check_range({BufferId{id}, offset}, size, storage->bytes(), what));
  return BufferRange{storage->buffer(), offset};
}

Result<BufferRange> DeviceService::place_to(uint64_t id, int64_t offset, int64_t size,
                                            const char* what) noexcept {
  TAPML_ASSIGN(const BufferRange range, place(id, offset, size, what));
  buffers_.at(id)->written(offset, size);
  return range;
}

Status DeviceService::handle(const wire::Write& request) noexcept {
  const StreamId stream{request.stream()};
  const auto* bytes = request.bytes();
  const uint64_t unpacked = bytes ? 0 : request.unpacked();
  const uint64_t size = bytes ? bytes->size() : unpacked > 0 ? unpacked : channel_.payload();
  auto to = place_to(request.buffer(), request.offset(), static_cast<int64_t>(size), "write");
  Status status = handles_.known(HandleKind::Stream, request.stream());
  if (status && !to) status = fail(to.error());
  if (status && unpacked > 0) status = channel_.check_packed(size, size);
  if (bytes) {
    TAPML_TRY(status);
    return session_->write(stream, *to,
                           {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()});
  }
  if (!status) {
    std::ignore = channel_.skip_payload();
    return status;
  }
  if (unpacked > 0) {
    const auto part = channel_.staging(unpacked);
    TAPML_TRY(channel_.take_packed(part));
    if (channel_.broken()) return {};
    return session_->write(stream, *to, part);
  }
  if (std::byte* there =
          session_->writable(stream, *to, static_cast<int64_t>(channel_.payload()))) {
    std::ignore = channel_.take({there, static_cast<size_t>(channel_.payload())});
    return {};
  }
  while (channel_.payload() > 0) {
    const auto part = channel_.staging(std::min<uint64_t>(channel_.payload(), kPartBytes));
    if (!channel_.take(part)) return {};
    TAPML_TRY(session_->write(stream, *to, part));
    to->offset += static_cast<int64_t>(part.size());
  }
  return {};
}

Status DeviceService::handle(const wire::Copy& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_ASSIGN(const BufferRange from,
               place(request.from(), request.from_offset(), request.size(), "copy"));
  TAPML_ASSIGN(const BufferRange to,
               place_to(request.to(), request.to_offset(), request.size(), "copy"));
  return session_->copy(StreamId{request.stream()}, from, to, request.size());
}

Status DeviceService::handle(const wire::FillZero& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_ASSIGN(const BufferRange to,
               place_to(request.buffer(), request.offset(), request.size(), "fill"));
  return session_->fill_zero(StreamId{request.stream()}, to, request.size());
}

Status DeviceService::handle(const wire::Launch& request) noexcept {
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
    if (!channel_.copies().take(uint64_t{request.scalars()->size()} * sizeof(int64_t))) return {};
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

Status DeviceService::handle(const wire::Record& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  const uint64_t id = request.event();
  if (!handles_.contains(HandleKind::Event, id)) {
    return make(HandleKind::Event, id,
                [&] { return session_->record(StreamId{request.stream()}, EventId{id}); });
  }
  return session_->record(StreamId{request.stream()}, EventId{id});
}

Status DeviceService::handle(const wire::WaitEvent& request) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_TRY(handles_.known(HandleKind::Event, request.event()));
  return session_->wait_event(StreamId{request.stream()}, EventId{request.event()});
}

Status DeviceService::handle(const wire::Synchronize& request) noexcept {
  channel_.shorten_deadline(request.timeout());
  TAPML_TRY(channel_.awaited());
  TAPML_TRY(channel_.surface());
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  return session_->synchronize(StreamId{request.stream()}, channel_.deadline());
}

Status DeviceService::read(uint64_t id, const wire::Read& request) noexcept {
  channel_.shorten_deadline(request.timeout());
  TAPML_TRY(channel_.awaited());
  TAPML_TRY(channel_.surface());
  TAPML_TRY(handles_.known(HandleKind::Stream, request.stream()));
  TAPML_ASSIGN(BufferRange from, place(request.buffer(), request.offset(), request.size(), "read"));
  const StreamId stream{request.stream()};
  const std::byte* there = session_->host_address(from.buffer);
  TAPML_TRY(session_->synchronize(stream, channel_.deadline()));
  for (int64_t done = 0; done < request.size();) {
    if (done > 0) {
      channel_.link().look();
      TAPML_TRY(channel_.awaited());
    }
    const auto size = static_cast<size_t>(
        std::min<int64_t>(request.size() - done, static_cast<int64_t>(kPartBytes)));
    std::span<const std::byte> part;
    if (there) {
      part = {there + from.offset, size};
    } else {
      const auto copy = channel_.staging(size);
      TAPML_TRY(session_->read(stream, from, copy, channel_.deadline()));
      part = copy;
    }
    const int64_t at = done;
    done += static_cast<int64_t>(size);
    from.offset += static_cast<int64_t>(size);
    const bool last = done == request.size();
    const bool sent = channel_.reply_bytes(id, part, [&](uint64_t unpacked) {
      return wire::CreateData(channel_.builder(), at, last, unpacked);
    });
    if (!sent) return {};
  }
  return {};
}

// Answers on success.
Status DeviceService::read_trace(uint64_t id) noexcept {
  if (events_.empty()) {
    TAPML_ASSIGN(events_, session_->take_trace());
    std::ranges::reverse(events_);  // they are taken from the end
  }
  std::unordered_map<std::string, uint32_t> numbers;
  std::vector<flatbuffers::Offset<flatbuffers::String>> names;
  std::vector<wire::Event> list;
  while (!events_.empty() && list.size() < kMostEvents) {
    const runtime::TraceEvent& event = events_.back();
    const auto [number, fresh] = numbers.emplace(event.name, static_cast<uint32_t>(names.size()));
    if (fresh) names.push_back(channel_.builder().CreateString(event.name));
    list.emplace_back(event.start, event.duration, event.bytes, number->second,
                      static_cast<uint8_t>(event.kind));
    events_.pop_back();
  }
  channel_.reply(id, wire::CreateEventsDirect(channel_.builder(), &names, &list, !events_.empty()));
  return {};
}

Status DeviceService::write(uint64_t stream, uint64_t buffer, int64_t offset,
                            std::span<const std::byte> bytes) noexcept {
  TAPML_TRY(handles_.known(HandleKind::Stream, stream));
  TAPML_ASSIGN(const BufferRange to,
               place_to(buffer, offset, static_cast<int64_t>(bytes.size()), "write"));
  return session_->write(StreamId{stream}, to, bytes);
}

// --- names -------------------------------------------------------------------------------------

const Storage* DeviceService::find_buffer(uint64_t id) const noexcept {
  const auto found = buffers_.find(id);
  return found == buffers_.end() ? nullptr : found->second.get();
}

void DeviceService::name_buffer(uint64_t id, std::shared_ptr<Storage> storage) {
  handles_.add(HandleKind::Buffer, id);
  buffers_[id] = std::move(storage);
}

bool DeviceService::release_buffer(uint64_t id) noexcept {
  const auto node = buffers_.extract(id);
  ++released_;
  return node && node.mapped().use_count() > 1;
}

void DeviceService::release(HandleKind kind, uint64_t id) noexcept {
  if (kind == HandleKind::Module) {
    session_->unload_module(ModuleId{id});
    code_.release_module(id);
  } else if (kind == HandleKind::Stream) {
    session_->destroy_stream(StreamId{id});
  } else if (kind == HandleKind::Kernel) {
    session_->release_kernel(KernelId{id});
  }
}

}  // namespace tapml::rpc
