#include "runtime/local_session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/session_errors.h"

namespace tapml::runtime {

namespace {

// Adds `value` under `id`; an error if the handle is in use.
template <class Table, class Value>
Status add(Table& table, uint64_t id, Value value, const char* kind) {
  if (!table.emplace(id, std::move(value)).second) return fail(handle_in_use(kind, id));
  return {};
}

}  // namespace

Result<std::unique_ptr<LocalSession>> LocalSession::create(
    std::shared_ptr<Device> device) noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): running out of these few bytes is fatal
  std::unique_ptr<LocalSession> session(new LocalSession(std::move(device)));
  TAPML_TRY(session->create_stream(kDefaultStream));
  session->default_stream_ = session->streams_.at(raw_handle(kDefaultStream)).get();
  return session;
}

LocalSession::~LocalSession() {
  // Queues finish their work before the memory that it uses is freed.
  streams_.clear();
  events_.clear();
  kernels_.clear();
  modules_.clear();
  buffers_.clear();
}

Status LocalSession::may_wait(const Deadline& deadline) const noexcept {
  if (interrupted()) return fail(wait_cancelled(info().platform));
  if (passed(deadline)) return fail(past_deadline(info().platform));
  return {};
}

Status LocalSession::allocate(BufferId id, int64_t bytes, Deadline deadline) noexcept {
  if (bytes < 0) return fail(negative_allocation(bytes));
  TAPML_TRY(may_wait(deadline));
  {
    LockGuard guard(lock_);
    if (buffers_.contains(raw_handle(id))) return fail(handle_in_use("buffer", raw_handle(id)));
  }
  TAPML_ASSIGN(std::shared_ptr<DeviceMemory> memory, device_->allocate(bytes));
  LockGuard guard(lock_);
  return add(buffers_, raw_handle(id), std::move(memory), "buffer");
}

Status LocalSession::adopt(BufferId id, std::shared_ptr<DeviceMemory> memory) noexcept {
  if (!memory) return fail(internal_error("a buffer without memory"));
  LockGuard guard(lock_);
  return add(buffers_, raw_handle(id), std::move(memory), "buffer");
}

void LocalSession::release(BufferId id) noexcept {
  submit_all();
  std::shared_ptr<DeviceMemory> memory;  // freed outside of the lock
  LockGuard guard(lock_);
  auto found = buffers_.find(raw_handle(id));
  if (found == buffers_.end()) return;
  memory = std::move(found->second);
  buffers_.erase(found);
}

Status LocalSession::load_module(ModuleId id, const ModuleBlob& blob, Deadline deadline) noexcept {
  TAPML_TRY(may_wait(deadline));
  TAPML_ASSIGN(std::shared_ptr<DeviceModule> module, device_->load(blob));
  LockGuard guard(lock_);
  return add(modules_, raw_handle(id), std::move(module), "module");
}

void LocalSession::unload_module(ModuleId id) noexcept {
  submit_all();
  LockGuard guard(lock_);
  modules_.erase(raw_handle(id));
}

Status LocalSession::get_kernel(KernelId id, ModuleId module, const std::string& entry,
                                Deadline deadline) noexcept {
  TAPML_TRY(may_wait(deadline));
  std::shared_ptr<DeviceModule> owner;
  {
    LockGuard guard(lock_);
    auto found = modules_.find(raw_handle(module));
    if (found == modules_.end()) return fail(unknown_handle("module", raw_handle(module)));
    owner = found->second;
  }
  TAPML_ASSIGN(std::shared_ptr<DeviceKernel> kernel, owner->kernel(entry));
  LockGuard guard(lock_);
  return add(kernels_, raw_handle(id), Kernel{std::move(kernel), entry}, "kernel");
}

void LocalSession::release_kernel(KernelId id) noexcept {
  submit_all();
  Kernel kernel;  // freed outside of the lock
  LockGuard guard(lock_);
  auto found = kernels_.find(raw_handle(id));
  if (found == kernels_.end()) return;
  kernel = std::move(found->second);
  kernels_.erase(found);
}

Status LocalSession::create_stream(StreamId id) noexcept {
  auto stream = std::make_shared<Stream>();
  TAPML_ASSIGN(stream->queue, device_->create_queue());
  LockGuard guard(lock_);
  return add(streams_, raw_handle(id), std::move(stream), "stream");
}

void LocalSession::destroy_stream(StreamId id) noexcept {
  if (id == kDefaultStream) return;
  std::shared_ptr<Stream> stream;  // finishes outside of the lock
  LockGuard guard(lock_);
  auto found = streams_.find(raw_handle(id));
  if (found == streams_.end()) return;
  stream = std::move(found->second);
  streams_.erase(found);
}

Result<std::shared_ptr<LocalSession::Stream>> LocalSession::find_stream(StreamId id) noexcept {
  LockGuard guard(lock_);
  auto found = streams_.find(raw_handle(id));
  if (found == streams_.end()) return fail(unknown_handle("stream", raw_handle(id)));
  return found->second;
}

Result<std::shared_ptr<DeviceMemory>> LocalSession::find_range(BufferRange range, int64_t size,
                                                               const char* what) noexcept {
  std::shared_ptr<DeviceMemory> memory;
  {
    LockGuard guard(lock_);
    auto found = buffers_.find(raw_handle(range.buffer));
    if (found == buffers_.end()) return fail(unknown_handle("buffer", raw_handle(range.buffer)));
    memory = found->second;
  }
  TAPML_TRY(check_range(range, size, memory->size(), what));
  return memory;
}

// Runs work(queue) in the stream's order. Its errors are reported by the stream.
template <class Work>
Status LocalSession::enqueue(StreamId id, Work&& work) noexcept {
  TAPML_ASSIGN(std::shared_ptr<Stream> stream, find_stream(id));
  LockGuard guard(stream->lock);
  submit(*stream);
  if (stream->error) return {};
  Status status = work(*stream);
  if (!status) stream->error = std::move(status).error();
  return {};
}

Result<std::shared_ptr<DeviceMemory>> LocalSession::find_writable(BufferRange range, int64_t size,
                                                                  const char* what) noexcept {
  TAPML_ASSIGN(auto memory, find_range(range, size, what));
  if (memory->read_only()) return fail(read_only_buffer(raw_handle(range.buffer), what));
  return memory;
}

Status LocalSession::write(StreamId stream, BufferRange to,
                           std::span<const std::byte> bytes) noexcept {
  TAPML_ASSIGN(auto memory, find_writable(to, static_cast<int64_t>(bytes.size()), "write"));
  const TraceScope scope(trace(), TraceEvent::Kind::kCopy, "write",
                         static_cast<int64_t>(bytes.size()));
  return enqueue(stream, [&](Stream& on) -> Status {
    if (bytes.empty()) return {};
    return on.queue->write(*memory, to.offset, bytes);
  });
}

Status LocalSession::copy(StreamId stream, BufferRange from, BufferRange to,
                          int64_t size) noexcept {
  TAPML_ASSIGN(auto source, find_range(from, size, "copy"));
  TAPML_ASSIGN(auto target, find_writable(to, size, "copy"));
  const TraceScope scope(trace(), TraceEvent::Kind::kCopy, "copy", size);
  return enqueue(stream, [&](Stream& on) -> Status {
    if (size == 0) return {};
    return on.queue->copy(*source, from.offset, *target, to.offset, size);
  });
}

Status LocalSession::fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept {
  TAPML_ASSIGN(auto memory, find_writable(to, size, "fill"));
  return enqueue(stream, [&](Stream& on) -> Status {
    if (size == 0) return {};
    return on.queue->fill_zero(*memory, to.offset, size);
  });
}

Status LocalSession::launch(StreamId stream, const LaunchRequest& request) noexcept {
  TAPML_TRY(check_launch_buffers(request.buffers.size()));
  // The references keep memory alive that another thread releases meanwhile.
  std::array<std::shared_ptr<DeviceMemory>, kMaxLaunchBuffers> held;
  std::array<BufferArg, kMaxLaunchBuffers> buffers;
  Kernel kernel;
  {
    LockGuard guard(lock_);
    auto found = kernels_.find(raw_handle(request.kernel));
    if (found == kernels_.end()) return fail(unknown_handle("kernel", raw_handle(request.kernel)));
    kernel = found->second;
    for (size_t i = 0; i < request.buffers.size(); ++i) {
      const BufferRange& range = request.buffers[i];
      auto buffer = buffers_.find(raw_handle(range.buffer));
      if (buffer == buffers_.end()) return fail(unknown_handle("buffer", raw_handle(range.buffer)));
      held[i] = buffer->second;
      buffers[i] = {held[i].get(), range.offset};
      TAPML_TRY(check_launch_argument(i, range.offset, held[i]->size(), kernel.entry));
    }
  }
  LaunchArgs args;
  args.buffers = std::span<const BufferArg>(buffers.data(), request.buffers.size());
  args.scalars = request.scalars;
  args.extent = request.extent;
  args.workgroup_threads = request.workgroup_threads;
  args.grid = request.grid;
  args.shared = request.shared;
  TAPML_TRY(check_launch_size(args));
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  // At once: `held` and `kernel` end here.
  return launch_on(*on, *kernel.kernel, kernel.entry, args, false);
}

Status LocalSession::launch(StreamId stream, DeviceKernel& kernel, const std::string& entry,
                            const LaunchArgs& args) noexcept {
  TAPML_TRY(check_launch_size(args));
  if (stream == kDefaultStream) return launch_on(*default_stream_, kernel, entry, args, true);
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  return launch_on(*on, kernel, entry, args, true);
}

Status LocalSession::launch_on(Stream& stream, DeviceKernel& kernel, const std::string& entry,
                               const LaunchArgs& args, bool may_be_held_back) noexcept {
  LockGuard guard(stream.lock);
  if (stream.error || is_empty_launch(args)) return {};
  if (may_be_held_back && stream.batches > 0 && !trace().on()) {
    if (stream.held_back.empty()) holding_back_.fetch_add(1);
    stream.held_back.add(kernel, entry, args);
    if (stream.held_back.is_full()) submit(stream);
    return {};
  }
  submit(stream);
  const TraceScope scope(trace(), TraceEvent::Kind::kKernel, entry);
  Status status = stream.queue->launch(kernel, args);
  if (status && trace().on()) status = stream.queue->synchronize();
  if (!status) {
    if (status.error().where.empty()) status.error().where = "kernel " + entry;
    stream.error = std::move(status).error();
  }
  return {};
}

void LocalSession::begin_batch(StreamId id) noexcept {
  auto stream = find_stream(id);
  if (!stream) return;
  LockGuard guard((*stream)->lock);
  if ((*stream)->queue->prefers_batches()) ++(*stream)->batches;
}

void LocalSession::end_batch(StreamId id) noexcept {
  auto stream = find_stream(id);
  if (!stream) return;
  LockGuard guard((*stream)->lock);
  if ((*stream)->batches > 0 && --(*stream)->batches == 0) submit(**stream);
}

void LocalSession::submit(Stream& stream) noexcept {
  if (stream.held_back.empty()) return;
  if (!stream.error) {
    Status status = stream.queue->launch_batch(stream.held_back.launches());
    if (!status) stream.error = std::move(status).error();
  }
  stream.held_back.clear();
  holding_back_.fetch_sub(1);
}

void LocalSession::submit_all() noexcept {
  if (holding_back_.load() == 0) return;
  std::vector<std::shared_ptr<Stream>> streams;
  {
    LockGuard guard(lock_);
    for (const auto& [id, stream] : streams_) streams.push_back(stream);
  }
  for (const std::shared_ptr<Stream>& stream : streams) {
    LockGuard guard(stream->lock);
    submit(*stream);
  }
}

Status LocalSession::record(StreamId stream, EventId event) noexcept {
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  Event recorded;
  {
    LockGuard guard(on->lock);
    submit(*on);
    if (!on->error) {
      auto reached = on->queue->record();
      if (reached) {
        recorded.reached = std::move(*reached);
      } else {
        on->error = std::move(reached).error();
      }
    }
    recorded.error = on->error;
  }
  LockGuard guard(lock_);
  events_[raw_handle(event)] = std::move(recorded);
  return {};
}

Status LocalSession::wait_event(StreamId stream, EventId event) noexcept {
  Event awaited;
  {
    LockGuard guard(lock_);
    auto found = events_.find(raw_handle(event));
    if (found == events_.end()) return fail(unknown_handle("event", raw_handle(event)));
    awaited = found->second;
  }
  return enqueue(stream, [&](Stream& on) -> Status {
    // Later work would use values that were never computed.
    if (awaited.error) return fail(*awaited.error);
    if (!awaited.reached) return {};
    return on.queue->wait(*awaited.reached);
  });
}

// Returns the stream's error, if any, and resets the stream.
Status LocalSession::surface(Stream& stream) noexcept {
  if (!stream.error) return {};
  Error error = *stream.error;
  if (error.fault == PlatformFault::kLost) return fail(std::move(error));
  auto queue = device_->create_queue();
  if (queue) {
    stream.queue = std::move(*queue);
    stream.error.reset();
  }
  return fail(std::move(error));
}

// Waits until the stream is idle; the caller holds its lock.
Status LocalSession::finish(Stream& stream, Deadline deadline) noexcept {
  submit(stream);
  const auto start = std::chrono::steady_clock::now();
  while (!stream.error && (deadline || interruptible())) {
    Result<bool> done = stream.queue->done();
    if (!done) {
      stream.error = std::move(done).error();
    } else if (*done) {
      break;
    } else {
      TAPML_TRY(may_wait(deadline));
      rest_thread(std::chrono::steady_clock::now() - start);
    }
  }
  if (!stream.error) {
    Status status = stream.queue->synchronize();
    if (!status) stream.error = std::move(status).error();
  }
  return surface(stream);
}

Status LocalSession::read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
                          Deadline deadline) noexcept {
  TAPML_ASSIGN(auto memory, find_range(from, static_cast<int64_t>(bytes.size()), "read"));
  const TraceScope scope(trace(), TraceEvent::Kind::kCopy, "read",
                         static_cast<int64_t>(bytes.size()));
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  LockGuard guard(on->lock);
  submit(*on);
  if (bytes.empty() || deadline || interruptible() || on->error) TAPML_TRY(finish(*on, deadline));
  if (bytes.empty()) return {};
  Status status = on->queue->read(*memory, from.offset, bytes);
  if (!status) on->error = std::move(status).error();
  return surface(*on);
}

Status LocalSession::synchronize(StreamId stream, Deadline deadline) noexcept {
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  const TraceScope scope(trace(), TraceEvent::Kind::kWait, "synchronize");
  LockGuard guard(on->lock);
  return finish(*on, deadline);
}

std::byte* LocalSession::host_address(BufferId id) noexcept {
  LockGuard guard(lock_);
  auto found = buffers_.find(raw_handle(id));
  return found == buffers_.end() ? nullptr : found->second->host_address();
}

std::byte* LocalSession::writable(StreamId stream, BufferRange to, int64_t size) noexcept {
  auto memory = find_writable(to, size, "write");
  auto on = find_stream(stream);
  if (!memory || !on) return nullptr;
  std::byte* address = (*memory)->host_address();
  if (!address) return nullptr;
  LockGuard guard((*on)->lock);
  submit(**on);
  if ((*on)->error) return nullptr;
  auto done = (*on)->queue->done();
  return done && *done ? address + to.offset : nullptr;
}

std::shared_ptr<DeviceMemory> LocalSession::memory(BufferId id) noexcept {
  LockGuard guard(lock_);
  auto found = buffers_.find(raw_handle(id));
  return found == buffers_.end() ? nullptr : found->second;
}

std::shared_ptr<DeviceKernel> LocalSession::kernel(KernelId id) noexcept {
  LockGuard guard(lock_);
  auto found = kernels_.find(raw_handle(id));
  return found == kernels_.end() ? nullptr : found->second.kernel;
}

// Waits for every stream; the first error wins.
Status LocalSession::finish_all() noexcept {
  std::vector<StreamId> ids;
  {
    LockGuard guard(lock_);
    for (const auto& [id, stream] : streams_) ids.push_back(StreamId{id});
  }
  std::sort(ids.begin(), ids.end());
  for (StreamId id : ids) {
    auto stream = find_stream(id);
    if (!stream) continue;  // destroyed meanwhile
    LockGuard guard((*stream)->lock);
    TAPML_TRY(finish(**stream, {}));
  }
  return {};
}

Result<Session::Snapshot> LocalSession::snapshot() noexcept {
  TAPML_TRY(finish_all());
  Snapshot snapshot;
  {
    LockGuard guard(lock_);
    for (const auto& [id, memory] : buffers_) {
      if (memory->read_only()) continue;  // it cannot have changed
      snapshot.buffers.emplace_back(BufferId{id},
                                    std::vector<std::byte>(static_cast<size_t>(memory->size())));
    }
  }
  std::sort(snapshot.buffers.begin(), snapshot.buffers.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [id, bytes] : snapshot.buffers) {
    TAPML_TRY(read(kDefaultStream, {id, 0}, bytes));
  }
  return snapshot;
}

Status LocalSession::restore(const Snapshot& snapshot) noexcept {
  TAPML_TRY(finish_all());
  contents_replaced();
  for (const auto& [id, bytes] : snapshot.buffers) {
    {
      LockGuard guard(lock_);
      auto found = buffers_.find(raw_handle(id));
      if (found == buffers_.end()) continue;
      if (found->second->size() != static_cast<int64_t>(bytes.size())) {
        return fail(snapshot_mismatch(bytes.size(), id, found->second->size()));
      }
    }
    TAPML_TRY(write(kDefaultStream, {id, 0}, bytes));
  }
  // Other streams no longer see the old bytes.
  return synchronize(kDefaultStream);
}

}  // namespace tapml::runtime
