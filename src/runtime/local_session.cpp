#include "runtime/local_session.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tapml::runtime {

namespace {

// Buffers of one launch; far above any kernel's signature.
constexpr size_t kMaxLaunchBuffers = 64;

template <class Id>
uint64_t raw(Id id) {
  return static_cast<uint64_t>(id);
}

Error unknown(const char* kind, uint64_t handle) {
  return internal_error(std::string("the session has no ") + kind + " " + std::to_string(handle));
}

Error in_use(const char* kind, uint64_t handle) {
  return internal_error(std::string("the session already has a ") + kind + " " +
                        std::to_string(handle));
}

// Adds `value` under `id`; an error where the handle is taken.
template <class Table, class Value>
Status add(Table& table, uint64_t id, Value value, const char* kind) {
  if (!table.emplace(id, std::move(value)).second) return fail(in_use(kind, id));
  return {};
}

}  // namespace

Result<std::unique_ptr<LocalSession>> LocalSession::create(
    std::shared_ptr<Device> device) noexcept {
  std::unique_ptr<LocalSession> session(new LocalSession(std::move(device)));
  TAPML_TRY(session->create_stream(kDefaultStream));
  session->default_stream_ = session->streams_.at(raw(kDefaultStream)).get();
  return session;
}

LocalSession::~LocalSession() {
  // Queues finish their work before the memory under it goes.
  streams_.clear();
  events_.clear();
  kernels_.clear();
  modules_.clear();
  buffers_.clear();
}

Status LocalSession::allocate(BufferId id, int64_t bytes) noexcept {
  if (bytes < 0) {
    return fail(internal_error("an allocation of " + std::to_string(bytes) + " bytes"));
  }
  {
    LockGuard guard(lock_);
    if (buffers_.contains(raw(id))) return fail(in_use("buffer", raw(id)));
  }
  TAPML_ASSIGN(std::shared_ptr<DeviceMemory> memory, device_->allocate(bytes));
  LockGuard guard(lock_);
  return add(buffers_, raw(id), std::move(memory), "buffer");
}

void LocalSession::release(BufferId id) noexcept {
  std::shared_ptr<DeviceMemory> memory;  // freed outside of the lock
  LockGuard guard(lock_);
  auto found = buffers_.find(raw(id));
  if (found == buffers_.end()) return;
  memory = std::move(found->second);
  buffers_.erase(found);
}

Status LocalSession::load_module(ModuleId id, const ModuleBlob& blob) noexcept {
  TAPML_ASSIGN(std::shared_ptr<DeviceModule> module, device_->load(blob));
  LockGuard guard(lock_);
  return add(modules_, raw(id), std::move(module), "module");
}

void LocalSession::unload_module(ModuleId id) noexcept {
  LockGuard guard(lock_);
  modules_.erase(raw(id));
}

Status LocalSession::get_kernel(KernelId id, ModuleId module, const std::string& entry) noexcept {
  std::shared_ptr<DeviceModule> owner;
  {
    LockGuard guard(lock_);
    auto found = modules_.find(raw(module));
    if (found == modules_.end()) return fail(unknown("module", raw(module)));
    owner = found->second;
  }
  TAPML_ASSIGN(std::shared_ptr<DeviceKernel> kernel, owner->kernel(entry));
  LockGuard guard(lock_);
  return add(kernels_, raw(id), Kernel{std::move(kernel), entry}, "kernel");
}

Status LocalSession::create_stream(StreamId id) noexcept {
  auto stream = std::make_shared<Stream>();
  TAPML_ASSIGN(stream->queue, device_->create_queue());
  LockGuard guard(lock_);
  return add(streams_, raw(id), std::move(stream), "stream");
}

void LocalSession::destroy_stream(StreamId id) noexcept {
  if (id == kDefaultStream) return;
  std::shared_ptr<Stream> stream;  // finishes outside of the lock
  LockGuard guard(lock_);
  auto found = streams_.find(raw(id));
  if (found == streams_.end()) return;
  stream = std::move(found->second);
  streams_.erase(found);
}

Result<std::shared_ptr<LocalSession::Stream>> LocalSession::find_stream(StreamId id) noexcept {
  LockGuard guard(lock_);
  auto found = streams_.find(raw(id));
  if (found == streams_.end()) return fail(unknown("stream", raw(id)));
  return found->second;
}

Result<std::shared_ptr<DeviceMemory>> LocalSession::find_range(BufferRange range, int64_t size,
                                                               const char* what) noexcept {
  std::shared_ptr<DeviceMemory> memory;
  {
    LockGuard guard(lock_);
    auto found = buffers_.find(raw(range.buffer));
    if (found == buffers_.end()) return fail(unknown("buffer", raw(range.buffer)));
    memory = found->second;
  }
  if (range.offset < 0 || size < 0 || range.offset > memory->size() ||
      size > memory->size() - range.offset) {
    return fail(internal_error(
        std::string("a ") + what + " outside of its buffer: " + std::to_string(size) +
        " bytes at offset " + std::to_string(range.offset) + " of buffer " +
        std::to_string(raw(range.buffer)) + ", which has " + std::to_string(memory->size())));
  }
  return memory;
}

// Runs work(queue) in the stream's order. What goes wrong there is the stream's to report.
template <class Work>
Status LocalSession::enqueue(StreamId id, Work&& work) noexcept {
  TAPML_ASSIGN(std::shared_ptr<Stream> stream, find_stream(id));
  LockGuard guard(stream->lock);
  if (stream->error) return {};
  Status status = work(*stream);
  if (!status) stream->error = std::move(status).error();
  return {};
}

Status LocalSession::write(StreamId stream, BufferRange to,
                           std::span<const std::byte> bytes) noexcept {
  TAPML_ASSIGN(auto memory, find_range(to, static_cast<int64_t>(bytes.size()), "write"));
  return enqueue(stream, [&](Stream& on) -> Status {
    if (bytes.empty()) return {};
    return on.queue->write(*memory, to.offset, bytes);
  });
}

Status LocalSession::copy(StreamId stream, BufferRange from, BufferRange to,
                          int64_t size) noexcept {
  TAPML_ASSIGN(auto source, find_range(from, size, "copy"));
  TAPML_ASSIGN(auto target, find_range(to, size, "copy"));
  return enqueue(stream, [&](Stream& on) -> Status {
    if (size == 0) return {};
    return on.queue->copy(*source, from.offset, *target, to.offset, size);
  });
}

Status LocalSession::fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept {
  TAPML_ASSIGN(auto memory, find_range(to, size, "fill"));
  return enqueue(stream, [&](Stream& on) -> Status {
    if (size == 0) return {};
    return on.queue->fill_zero(*memory, to.offset, size);
  });
}

Status LocalSession::launch(StreamId stream, const LaunchRequest& request) noexcept {
  if (request.buffers.size() > kMaxLaunchBuffers) {
    return fail(platform_error(PlatformFault::kLimit, "a launch takes " +
                                                          std::to_string(request.buffers.size()) +
                                                          " buffers; the session allows " +
                                                          std::to_string(kMaxLaunchBuffers)));
  }
  // The references keep memory that another thread releases meanwhile.
  std::array<std::shared_ptr<DeviceMemory>, kMaxLaunchBuffers> held;
  std::array<BufferArg, kMaxLaunchBuffers> buffers;
  Kernel kernel;
  {
    LockGuard guard(lock_);
    auto found = kernels_.find(raw(request.kernel));
    if (found == kernels_.end()) return fail(unknown("kernel", raw(request.kernel)));
    kernel = found->second;
    for (size_t i = 0; i < request.buffers.size(); ++i) {
      const BufferRange& range = request.buffers[i];
      auto buffer = buffers_.find(raw(range.buffer));
      if (buffer == buffers_.end()) return fail(unknown("buffer", raw(range.buffer)));
      held[i] = buffer->second;
      buffers[i] = {held[i].get(), range.offset};
      if (range.offset < 0 || range.offset > held[i]->size()) {
        return fail(internal_error("buffer argument " + std::to_string(i) + " of kernel " +
                                   kernel.entry + " begins outside of its buffer"));
      }
    }
  }
  LaunchArgs args;
  args.buffers = std::span<const BufferArg>(buffers.data(), request.buffers.size());
  args.scalars = request.scalars;
  args.extent = request.extent;
  args.workgroup_threads = request.workgroup_threads;
  return launch(stream, *kernel.kernel, kernel.entry, args);
}

Status LocalSession::launch(StreamId stream, DeviceKernel& kernel, const std::string& entry,
                            const LaunchArgs& args) noexcept {
  if (args.extent < 0 || args.workgroup_threads < 1) {
    return fail(internal_error("a launch of " + std::to_string(args.extent) +
                               " work items in groups of " +
                               std::to_string(args.workgroup_threads)));
  }
  if (stream == kDefaultStream) return launch_on(*default_stream_, kernel, entry, args);
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  return launch_on(*on, kernel, entry, args);
}

Status LocalSession::launch_on(Stream& stream, DeviceKernel& kernel, const std::string& entry,
                               const LaunchArgs& args) noexcept {
  LockGuard guard(stream.lock);
  if (stream.error || args.extent == 0) return {};
  Status status = stream.queue->launch(kernel, args);
  if (!status) {
    if (status.error().where.empty()) status.error().where = "kernel " + entry;
    stream.error = std::move(status).error();
  }
  return {};
}

Status LocalSession::record(StreamId stream, EventId event) noexcept {
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  Event recorded;
  {
    LockGuard guard(on->lock);
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
  events_[raw(event)] = std::move(recorded);
  return {};
}

Status LocalSession::wait_event(StreamId stream, EventId event) noexcept {
  Event awaited;
  {
    LockGuard guard(lock_);
    auto found = events_.find(raw(event));
    if (found == events_.end()) return fail(unknown("event", raw(event)));
    awaited = found->second;
  }
  return enqueue(stream, [&](Stream& on) -> Status {
    // What follows would work on values that were never made.
    if (awaited.error) return fail(*awaited.error);
    if (!awaited.reached) return {};
    return on.queue->wait(*awaited.reached);
  });
}

// Returns the stream's error, if any, and starts the stream afresh.
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

// Waits until the stream has done everything; the caller holds its lock.
Status LocalSession::finish(Stream& stream, Deadline deadline) noexcept {
  while (!stream.error && deadline) {
    Result<bool> done = stream.queue->done();
    if (!done) {
      stream.error = std::move(done).error();
    } else if (*done) {
      break;
    } else if (std::chrono::steady_clock::now() >= *deadline) {
      return fail(platform_error(PlatformFault::kTimeout,
                                 "the device did not finish its work before the deadline",
                                 info().platform));
    } else {
      yield_thread();
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
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  LockGuard guard(on->lock);
  if (bytes.empty() || deadline || on->error) TAPML_TRY(finish(*on, deadline));
  if (bytes.empty()) return {};
  Status status = on->queue->read(*memory, from.offset, bytes);
  if (!status) on->error = std::move(status).error();
  return surface(*on);
}

Status LocalSession::synchronize(StreamId stream, Deadline deadline) noexcept {
  TAPML_ASSIGN(std::shared_ptr<Stream> on, find_stream(stream));
  LockGuard guard(on->lock);
  return finish(*on, deadline);
}

std::byte* LocalSession::host_address(BufferId id) noexcept {
  LockGuard guard(lock_);
  auto found = buffers_.find(raw(id));
  return found == buffers_.end() ? nullptr : found->second->host_address();
}

std::shared_ptr<DeviceMemory> LocalSession::memory(BufferId id) noexcept {
  LockGuard guard(lock_);
  auto found = buffers_.find(raw(id));
  return found == buffers_.end() ? nullptr : found->second;
}

std::shared_ptr<DeviceKernel> LocalSession::kernel(KernelId id) noexcept {
  LockGuard guard(lock_);
  auto found = kernels_.find(raw(id));
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
      auto found = buffers_.find(raw(id));
      if (found == buffers_.end()) continue;
      if (found->second->size() != static_cast<int64_t>(bytes.size())) {
        return fail(internal_error("the snapshot holds " + std::to_string(bytes.size()) +
                                   " bytes of buffer " + std::to_string(raw(id)) + ", which has " +
                                   std::to_string(found->second->size())));
      }
    }
    TAPML_TRY(write(kDefaultStream, {id, 0}, bytes));
  }
  // Other streams see the old bytes no more.
  return synchronize(kDefaultStream);
}

}  // namespace tapml::runtime
