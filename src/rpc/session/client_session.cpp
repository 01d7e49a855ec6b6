#include "rpc/session/client_session.h"

#include <algorithm>
#include <tuple>

#include "exec/executable_file.h"
#include "rpc/session/remote_virtual_machine.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::Deadline;
using runtime::EventId;
using runtime::KernelId;
using runtime::LockGuard;
using runtime::ModuleId;
using runtime::raw_handle;
using runtime::StreamId;
using runtime::TraceEvent;
using runtime::TraceScope;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// Writes up to this size are part of the message, so that several share a frame.
constexpr size_t kSmallWrite = size_t{16} << 10;

}  // namespace

Status ClientSession::allocate(BufferId id, int64_t bytes, Deadline deadline) noexcept {
  if (bytes < 0) return fail(runtime::negative_allocation(bytes));
  TAPML_TRY(add_buffer(id, bytes));
  const bool large = bytes >= kLargeAllocation;
  auto request = [&](Builder& builder) {
    return wire::CreateAllocate(builder, raw_handle(id), bytes, large);
  };
  ClientLink::Reply reply;
  Status status = large ? link_->call(request, reply, deadline) : link_->post(request);
  if (status) return status;
  {
    LockGuard guard(tables_);
    buffers_.erase(raw_handle(id));
  }
  if (!reply.answered()) forget(wire::HandleKind::Buffer, raw_handle(id));
  return status;
}

Status ClientSession::add_buffer(BufferId id, int64_t bytes) noexcept {
  LockGuard guard(tables_);
  if (buffers_.emplace(raw_handle(id), bytes).second) return {};
  return fail(runtime::handle_in_use("buffer", raw_handle(id)));
}

void ClientSession::forget(wire::HandleKind kind, uint64_t id, uint32_t count) noexcept {
  // A lost session has no names to release.
  std::ignore =
      link_->post([&](Builder& builder) { return wire::CreateRelease(builder, kind, id, count); });
}

void ClientSession::release(BufferId id) noexcept {
  {
    LockGuard guard(tables_);
    if (buffers_.erase(raw_handle(id)) == 0) return;
  }
  forget(wire::HandleKind::Buffer, raw_handle(id));
}

Status ClientSession::load_module(ModuleId id, const ModuleBlob& blob, Deadline deadline) noexcept {
  {
    LockGuard guard(tables_);
    if (modules_.contains(raw_handle(id))) {
      return fail(runtime::handle_in_use("module", raw_handle(id)));
    }
  }
  TAPML_ASSIGN(const uint64_t bytes, send_blob(blob.bytes, deadline));
  ClientLink::Reply reply;
  Status loaded = link_->call(
      [&](Builder& builder) {
        const auto entries = builder.CreateVectorOfStrings(blob.entries);
        const auto platform = builder.CreateString(blob.platform);
        const auto format = builder.CreateString(blob.format);
        const auto cpu = builder.CreateString(blob.cpu);
        const auto features = builder.CreateString(blob.features);
        return wire::CreateLoadModule(builder, raw_handle(id), bytes, platform, format, entries,
                                      cpu, features);
      },
      reply, deadline);
  if (!loaded) {
    if (!reply.answered()) {
      forget(wire::HandleKind::Blob, bytes);  // if it was not requested at all
      forget(wire::HandleKind::Module, raw_handle(id));
    }
    return loaded;
  }
  LockGuard guard(tables_);
  modules_[raw_handle(id)] = {blob.entries.begin(), blob.entries.end()};
  return {};
}

void ClientSession::unload_module(ModuleId id) noexcept {
  {
    LockGuard guard(tables_);
    if (modules_.erase(raw_handle(id)) == 0) return;
  }
  forget(wire::HandleKind::Module, raw_handle(id));
}

Status ClientSession::get_kernel(KernelId id, ModuleId module, const std::string& entry,
                                 Deadline deadline) noexcept {
  bool listed = false;
  {
    LockGuard guard(tables_);
    auto owner = modules_.find(raw_handle(module));
    if (owner == modules_.end()) {
      return fail(runtime::unknown_handle("module", raw_handle(module)));
    }
    if (kernels_.contains(raw_handle(id))) {
      return fail(runtime::handle_in_use("kernel", raw_handle(id)));
    }
    listed = owner->second.contains(entry);
  }
  // A module that lists the entry is trusted; otherwise the server's answer decides.
  auto request = [&](Builder& builder) {
    const auto name = builder.CreateString(entry);
    return wire::CreateGetKernel(builder, raw_handle(id), raw_handle(module), name, !listed);
  };
  ClientLink::Reply reply;
  if (Status got = listed ? link_->post(request) : link_->call(request, reply, deadline); !got) {
    if (!listed && !reply.answered()) forget(wire::HandleKind::Kernel, raw_handle(id));
    return got;
  }
  LockGuard guard(tables_);
  kernels_[raw_handle(id)] = entry;
  return {};
}

void ClientSession::release_kernel(KernelId id) noexcept {
  {
    LockGuard guard(tables_);
    if (kernels_.erase(raw_handle(id)) == 0) return;
  }
  forget(wire::HandleKind::Kernel, raw_handle(id));
}

Status ClientSession::create_stream(StreamId id) noexcept {
  {
    LockGuard guard(tables_);
    if (!streams_.insert(id).second) {
      return fail(runtime::handle_in_use("stream", raw_handle(id)));
    }
  }
  return link_->post(
      [&](Builder& builder) { return wire::CreateCreateStream(builder, raw_handle(id)); });
}

void ClientSession::destroy_stream(StreamId id) noexcept {
  if (id == runtime::kDefaultStream) return;
  {
    LockGuard guard(tables_);
    if (streams_.erase(id) == 0) return;
  }
  forget(wire::HandleKind::Stream, raw_handle(id));
}

Status ClientSession::check(StreamId stream) noexcept {
  LockGuard guard(tables_);
  if (streams_.contains(stream)) return {};
  return fail(runtime::unknown_handle("stream", raw_handle(stream)));
}

Status ClientSession::check(StreamId stream, BufferRange range, int64_t size,
                            const char* what) noexcept {
  LockGuard guard(tables_);
  auto found = buffers_.find(raw_handle(range.buffer));
  if (found == buffers_.end()) {
    return fail(runtime::unknown_handle("buffer", raw_handle(range.buffer)));
  }
  TAPML_TRY(runtime::check_range(range, size, found->second, what));
  if (streams_.contains(stream)) return {};
  return fail(runtime::unknown_handle("stream", raw_handle(stream)));
}

Status ClientSession::write(StreamId stream, BufferRange to,
                            std::span<const std::byte> bytes) noexcept {
  TAPML_TRY(check(stream, to, static_cast<int64_t>(bytes.size()), "write"));
  const TraceScope scope(trace(), TraceEvent::Kind::kCopy, "send",
                         static_cast<int64_t>(bytes.size()));
  if (bytes.empty()) return {};
  if (bytes.size() <= kSmallWrite) {
    return link_->post([&](Builder& builder) {
      const auto copy =
          builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      return wire::CreateWrite(builder, raw_handle(stream), raw_handle(to.buffer), to.offset, copy);
    });
  }
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), peer_.part_bytes));
    TAPML_TRY(link_->post_bytes(
        [&](Builder& builder, uint64_t unpacked) {
          return wire::CreateWrite(builder, raw_handle(stream), raw_handle(to.buffer), to.offset, 0,
                                   unpacked);
        },
        part));
    to.offset += static_cast<int64_t>(part.size());
    bytes = bytes.subspan(part.size());
  }
  return {};
}

Status ClientSession::copy(StreamId stream, BufferRange from, BufferRange to,
                           int64_t size) noexcept {
  TAPML_TRY(check(stream, from, size, "copy"));
  TAPML_TRY(check(stream, to, size, "copy"));
  if (size == 0) return {};
  return link_->post([&](Builder& builder) {
    return wire::CreateCopy(builder, raw_handle(stream), raw_handle(from.buffer), from.offset,
                            raw_handle(to.buffer), to.offset, size);
  });
}

Status ClientSession::fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept {
  TAPML_TRY(check(stream, to, size, "fill"));
  if (size == 0) return {};
  return link_->post([&](Builder& builder) {
    return wire::CreateFillZero(builder, raw_handle(stream), raw_handle(to.buffer), to.offset,
                                size);
  });
}

Status ClientSession::launch(StreamId stream, const runtime::LaunchRequest& request) noexcept {
  TAPML_TRY(runtime::check_launch_buffers(request.buffers.size()));
  {
    LockGuard guard(tables_);
    auto kernel = kernels_.find(raw_handle(request.kernel));
    if (kernel == kernels_.end()) {
      return fail(runtime::unknown_handle("kernel", raw_handle(request.kernel)));
    }
    for (size_t i = 0; i < request.buffers.size(); ++i) {
      const BufferRange& range = request.buffers[i];
      auto buffer = buffers_.find(raw_handle(range.buffer));
      if (buffer == buffers_.end()) {
        return fail(runtime::unknown_handle("buffer", raw_handle(range.buffer)));
      }
      TAPML_TRY(runtime::check_launch_argument(i, range.offset, buffer->second, kernel->second));
    }
  }
  TAPML_TRY(runtime::check_launch_size(request));
  TAPML_TRY(check(stream));
  if (runtime::is_empty_launch(request)) return {};
  return link_->post([&](Builder& builder) {
    wire::Range ranges[runtime::kMaxLaunchBuffers];
    for (size_t i = 0; i < request.buffers.size(); ++i) {
      ranges[i] = wire::Range(raw_handle(request.buffers[i].buffer), request.buffers[i].offset);
    }
    const auto buffers = builder.CreateVectorOfStructs(ranges, request.buffers.size());
    const auto scalars = builder.CreateVector(request.scalars.data(), request.scalars.size());
    wire::SharedSize sizes[kMostSharedBuffers];
    for (size_t i = 0; i < request.shared.size(); ++i) {
      sizes[i] = wire::SharedSize(request.shared[i].elements, request.shared[i].bytes);
    }
    const auto shared = request.shared.empty()
                            ? flatbuffers::Offset<flatbuffers::Vector<const wire::SharedSize*>>()
                            : builder.CreateVectorOfStructs(sizes, request.shared.size());
    return wire::CreateLaunch(builder, raw_handle(stream), raw_handle(request.kernel), buffers,
                              scalars, request.extent, request.workgroup_threads, request.grid[0],
                              request.grid[1], shared);
  });
}

Status ClientSession::record(StreamId stream, EventId event) noexcept {
  TAPML_TRY(check(stream));
  {
    LockGuard guard(tables_);
    events_.insert(event);
  }
  return link_->post([&](Builder& builder) {
    return wire::CreateRecord(builder, raw_handle(stream), raw_handle(event));
  });
}

Status ClientSession::wait_event(StreamId stream, EventId event) noexcept {
  {
    LockGuard guard(tables_);
    if (!events_.contains(event)) {
      return fail(runtime::unknown_handle("event", raw_handle(event)));
    }
  }
  TAPML_TRY(check(stream));
  return link_->post([&](Builder& builder) {
    return wire::CreateWaitEvent(builder, raw_handle(stream), raw_handle(event));
  });
}

Status ClientSession::read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
                           Deadline deadline) noexcept {
  TAPML_TRY(check(stream, from, static_cast<int64_t>(bytes.size()), "read"));
  const TraceScope scope(trace(), TraceEvent::Kind::kCopy, "fetch",
                         static_cast<int64_t>(bytes.size()));
  ClientLink::Reply reply(bytes);
  deadline = link_->limit(deadline);
  return link_->call(
      [&](Builder& builder) {
        return wire::CreateRead(builder, raw_handle(stream), raw_handle(from.buffer), from.offset,
                                static_cast<int64_t>(bytes.size()), nanoseconds_left(deadline));
      },
      reply, deadline);
}

Status ClientSession::synchronize(StreamId stream, Deadline deadline) noexcept {
  TAPML_TRY(check(stream));
  const TraceScope scope(trace(), TraceEvent::Kind::kWait, "synchronize");
  ClientLink::Reply reply;
  deadline = link_->limit(deadline);
  return link_->call(
      [&](Builder& builder) {
        return wire::CreateSynchronize(builder, raw_handle(stream), nanoseconds_left(deadline));
      },
      reply, deadline);
}

// Waits for every stream; the first error wins.
Status ClientSession::finish_all() noexcept {
  std::set<StreamId> streams;
  {
    LockGuard guard(tables_);
    streams = streams_;
  }
  for (StreamId stream : streams) TAPML_TRY(synchronize(stream));
  return {};
}

Result<runtime::Session::Snapshot> ClientSession::snapshot() noexcept {
  TAPML_TRY(finish_all());
  Snapshot snapshot;
  {
    LockGuard guard(tables_);
    for (const auto& [id, bytes] : buffers_) {
      snapshot.buffers.emplace_back(BufferId{id},
                                    std::vector<std::byte>(static_cast<size_t>(bytes)));
    }
  }
  std::sort(snapshot.buffers.begin(), snapshot.buffers.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [id, bytes] : snapshot.buffers) {
    TAPML_TRY(read(runtime::kDefaultStream, {id, 0}, bytes));
  }
  return snapshot;
}

Status ClientSession::restore(const Snapshot& snapshot) noexcept {
  TAPML_TRY(finish_all());
  contents_replaced();
  for (const auto& [id, bytes] : snapshot.buffers) {
    {
      LockGuard guard(tables_);
      auto found = buffers_.find(raw_handle(id));
      if (found == buffers_.end()) continue;
      if (found->second != static_cast<int64_t>(bytes.size())) {
        return fail(runtime::snapshot_mismatch(bytes.size(), id, found->second));
      }
    }
    TAPML_TRY(write(runtime::kDefaultStream, {id, 0}, bytes));
  }
  return synchronize(runtime::kDefaultStream);
}

Result<std::unique_ptr<runtime::VirtualMachine>> ClientSession::open_vm(
    std::shared_ptr<const Executable> executable, Deadline deadline) noexcept {
  return RemoteVirtualMachine::open(*this, std::move(executable), deadline);
}

}  // namespace tapml::rpc
