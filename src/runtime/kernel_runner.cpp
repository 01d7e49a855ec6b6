#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "abi/alignment.h"
#include "base/rounding.h"
#include "exec/validate.h"
#include "runtime/arena.h"
#include "runtime/call_point.h"
#include "runtime/kernel_arguments.h"
#include "runtime/local_session.h"
#include "runtime/scalars.h"

namespace tapml::runtime {

namespace {

// Maximum tensors and maximum scalars of one launch.
constexpr size_t kMaxArguments = 64;
// How many times loading onto a remote device waits to report what is loaded.
constexpr int64_t kLoadReports = 16;

// A loaded implementation and its kernels.
struct Ready {
  const Implementation* implementation = nullptr;  // null: the executable has none
  ArgumentRules rules;
  std::vector<size_t> written;    // indices of the arguments that are out or inout
  std::vector<KernelId> kernels;  // one per launch
  std::vector<std::shared_ptr<DeviceKernel>> objects;  // the same for a local session
  std::optional<Error> refused;                        // why it cannot be launched
};

// The location of an argument, a workspace or a segment of either.
struct Place {
  BufferId buffer;
  DeviceMemory* memory;  // null if the session is not local
  int64_t offset;        // bytes
};

// An array for arguments of a launch; unused items are never touched.
template <class T>
class Row {
 public:
  Row() {}  // NOLINT: leaves the items alone
  void set(size_t i, T item) { std::construct_at(&items_[i], item); }
  std::span<const T> first(size_t count) const { return {items_, count}; }

 private:
  union {
    T items_[kMaxArguments];
  };
};

// The locations of one call: on the stack if they are few, else on the heap.
class Places {
 public:
  explicit Places(size_t count) : more_(count > kMaxArguments ? count : 0) {
    data_ = more_.empty() ? few_ : more_.data();
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  Place& operator[](size_t i) { return data_[i]; }

 private:
  Place few_[kMaxArguments];
  std::vector<Place> more_;
  Place* data_;
};

// Whether the launch applies to these sizes. If its condition has no value, its other programs
// report the error.
bool is_chosen(const LaunchInfo& launch, std::span<const int64_t> scalars) {
  if (launch.when.code.empty()) return true;
  int64_t value = 0;
  return !evaluate_into(launch.when, scalars, value) || value >= 0;
}

Status check_launch_limits(const LaunchInfo& launch, const Limits& limits,
                           const std::string& kernel) {
  size_t bindings = launch.buffers.size();
  if (bindings > kMaxArguments || launch.scalars.size() > kMaxArguments ||
      (limits.max_bindings > 0 && bindings > static_cast<size_t>(limits.max_bindings))) {
    return fail(platform_error(
        PlatformFault::kLimit,
        "a launch takes " + std::to_string(bindings) + " buffers and " +
            std::to_string(launch.scalars.size()) + " scalars; this device allows " +
            std::to_string(limits.max_bindings > 0 ? limits.max_bindings
                                                   : static_cast<int64_t>(kMaxArguments)) +
            " buffers",
        "kernel " + kernel + ", launch of " + launch.entry));
  }
  if (limits.max_workgroup_threads > 0 && launch.workgroup_threads > limits.max_workgroup_threads) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a work group of " + std::to_string(launch.workgroup_threads) +
                                   " threads; this device allows " +
                                   std::to_string(limits.max_workgroup_threads),
                               "kernel " + kernel + ", launch of " + launch.entry));
  }
  return {};
}

}  // namespace

struct KernelRunner::State {
  State(Session& on, std::shared_ptr<const Executable> what)
      : session(on),
        local(on.local()),
        alignment(on.info().limits.buffer_alignment),
        executable(std::move(what)),
        arena(on),
        aligned(on) {}

  ~State() {
    for (KernelId kernel : kernels) session.release_kernel(kernel);
    for (ModuleId module : modules) session.unload_module(module);
  }

  Status load(BeyondLimits beyond, const Deadline& deadline) {
    Loaded loaded{deadline, {}, {}};
    ready.resize(executable->kernels.size());
    for (const Implementation& implementation : executable->implementations) {
      Status status = load(implementation, loaded);
      if (status) continue;
      if (beyond == BeyondLimits::kRefusesAll || status.error().fault != PlatformFault::kLimit) {
        return status;
      }
      ready[implementation.kernel].refused = std::move(status).error();
    }
    const int64_t all = std::ssize(executable->modules);
    tell(session.watcher(), {"load", all, all, "modules"});
    return {};
  }

  // Reports the modules that are loaded. A remote device takes them asynchronously: with a watcher
  // the host waits for it, a few times in all.
  Status tell_loaded(const Deadline& deadline) {
    if (!session.watcher()) return {};
    const int64_t all = std::ssize(executable->modules), step = ceil_div(all, kLoadReports);
    const int64_t done = std::ssize(modules);
    if (!local && done > 0) {
      if (done % step != 0) return {};
      TAPML_TRY(session.synchronize(kDefaultStream, deadline));
    }
    tell(session.watcher(), {"load", done, all, "modules"});
    return {};
  }

  // What is loaded, to share between implementations.
  struct Loaded {
    Deadline deadline;
    std::map<int32_t, ModuleId> modules;                          // by index
    std::map<std::pair<int32_t, std::string>, KernelId> kernels;  // by module and entry
  };

  Status load(const Implementation& implementation, Loaded& loaded) {
    auto module = loaded.modules.find(implementation.module);
    if (module == loaded.modules.end()) {
      TAPML_TRY(tell_loaded(loaded.deadline));
      const ModuleId id{session.new_handle()};
      TAPML_TRY(
          session.load_module(id, executable->modules[implementation.module], loaded.deadline));
      modules.push_back(id);
      module = loaded.modules.emplace(implementation.module, id).first;
    }
    Ready& entry = ready[implementation.kernel];
    entry.implementation = &implementation;
    const KernelInfo& info = executable->kernels[implementation.kernel];
    entry.rules = ArgumentRules(info, implementation.segments, session);
    for (size_t i = 0; i < info.params.size(); ++i) {
      if (info.params[i].mode != AccessMode::kIn) entry.written.push_back(i);
    }
    for (const Segment& segment : implementation.segments) {
      TAPML_TRY(check_binding(segment.bytes, session.info().limits,
                              "kernel " + info.name + ", a segment of a tensor"));
    }
    for (const LaunchInfo& launch : implementation.launches) {
      TAPML_TRY(check_launch_limits(launch, session.info().limits, info.name));
      auto [kernel, missing] =
          loaded.kernels.emplace(std::pair(implementation.module, launch.entry), KernelId{});
      if (missing) {
        kernel->second = KernelId{session.new_handle()};
        TAPML_TRY(
            session.get_kernel(kernel->second, module->second, launch.entry, loaded.deadline));
        kernels.push_back(kernel->second);
      }
      entry.kernels.push_back(kernel->second);
      if (local) entry.objects.push_back(local->kernel(kernel->second));
    }
    return {};
  }

  // Sets the locations of the scratch tensors, from places[first] on: workspaces in
  // `scratch.workspace`, prepared ones in `scratch.prepared`, and missing ones in the stream's
  // arena, which `held` keeps alive.
  Status place_scratch(const KernelInfo& kernel, const Implementation& implementation,
                       std::span<const int64_t> scalars, StreamId stream, Places& places,
                       size_t first, const Scratch& scratch, std::shared_ptr<Storage>& held) {
    int64_t own = 0, workspace = 0, prepared = 0;  // bytes in the arena, `scratch`'s parts
    size_t next = first;
    for (const ParamInfo& tensor : implementation.workspaces) {
      const bool at_load = tensor.mode == AccessMode::kPrepared;
      int64_t& total =
          at_load ? (scratch.prepared ? prepared : own) : (scratch.workspace ? workspace : own);
      TAPML_ASSIGN(int64_t bytes, param_bytes(tensor, scalars));
      // Text is built only for errors: this runs at every call.
      auto where = [&] { return "kernel " + kernel.name + ", workspace " + tensor.name; };
      int64_t most = session.info().limits.max_binding_bytes;
      if (most > 0 && bytes > most) {
        return check_binding(bytes, session.info().limits, where());
      }
      places[next++].offset = total;
      // An overflow leaves a negative total, which the allocation refuses.
      int64_t padded = 0;
      if (__builtin_add_overflow(bytes, kScratchAlignment - 1, &padded) ||
          __builtin_add_overflow(total, padded / kScratchAlignment * kScratchAlignment, &total)) {
        return fail(platform_error(PlatformFault::kLimit,
                                   "the workspaces have more than 2^63 - 1 bytes", where()));
      }
    }
    TAPML_TRY(check_room(
        "workspaces", workspace,
        scratch.workspace ? scratch.workspace->bytes() - scratch.workspace_offset : 0, kernel));
    TAPML_TRY(check_room("prepared tensors", prepared,
                         scratch.prepared ? scratch.prepared->byte_size() : 0, kernel));
    if (own > 0 || (!scratch.workspace && !scratch.prepared)) {
      auto storage = arena.get(stream, own);
      if (!storage) {
        storage.error().where = "workspaces of kernel " + kernel.name;
        return fail(std::move(storage).error());
      }
      held = std::move(*storage);
    }
    next = first;
    for (const ParamInfo& tensor : implementation.workspaces) {
      const bool at_load = tensor.mode == AccessMode::kPrepared;
      const Storage* in = held.get();
      if (at_load && scratch.prepared) {
        in = scratch.prepared->storage.get();
        places[next].offset += scratch.prepared->offset;
      } else if (!at_load && scratch.workspace) {
        in = scratch.workspace.get();
        places[next].offset += scratch.workspace_offset;
      }
      places[next].buffer = in->buffer();
      places[next++].memory = in->memory();
    }
    return {};
  }

  // Returns `args` with those whose offset violates the device's alignment replaced by copies,
  // which are enqueued on `stream`. Contract 3: tensors are compact, the caller copies other views.
  Result<std::vector<Tensor>> align(const KernelInfo& kernel, Arguments args, StreamId stream) {
    std::vector<Tensor> placed;
    int64_t total = 0;  // bytes of the copies
    for (size_t i = 0; i < args.size(); ++i) {
      placed.push_back(args[i]);
      if (args[i].offset % alignment == 0) continue;
      placed[i].offset = total;
      int64_t padded = 0;
      if (__builtin_add_overflow(args[i].byte_size(), kTensorAlignment - 1, &padded) ||
          __builtin_add_overflow(total, padded / kTensorAlignment * kTensorAlignment, &total)) {
        return fail(platform_error(PlatformFault::kLimit,
                                   "copies of the arguments have more than 2^63 - 1 bytes",
                                   "kernel " + kernel.name));
      }
    }
    auto copies = aligned.get(stream, total);
    if (!copies) {
      copies.error().where = "copies of arguments of kernel " + kernel.name;
      return fail(std::move(copies).error());
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].offset % alignment == 0) continue;
      placed[i].storage = *copies;
      if (kernel.params[i].mode != AccessMode::kOut) {
        TAPML_TRY(copy(args[i], placed[i], stream));
      }
    }
    return placed;
  }

  Status copy(const Tensor& from, const Tensor& to, StreamId stream) {
    if (from.byte_size() == 0) return {};
    return session.copy(stream, {from.storage->buffer(), from.offset},
                        {to.storage->buffer(), to.offset}, from.byte_size());
  }

  static Status check_room(const char* what, int64_t needed, int64_t given,
                           const KernelInfo& kernel) {
    if (given >= needed) return {};
    return fail(internal_error("the " + std::string(what) + " need " + std::to_string(needed) +
                                   " bytes; the caller provides " + std::to_string(given),
                               "kernel " + kernel.name));
  }

  // The sizes of the launch's shared buffers that depend on the scalars. kLimit if they are larger
  // than the memory of a work group.
  Status shared_sizes(const LaunchInfo& info, std::span<const int64_t> scalars,
                      std::span<SharedSize> sizes) const {
    int64_t sum = 0;
    for (size_t i = 0; i < info.shared.size(); ++i) {
      TAPML_ASSIGN(const int64_t elements, evaluate(info.shared[i].elements, scalars));
      sizes[i].elements = std::max<int64_t>(elements, 1);  // no language has an array of none
      const int64_t most = session.info().limits.max_local_memory;
      if (!__builtin_mul_overflow(sizes[i].elements, info.shared[i].element_bytes,
                                  &sizes[i].bytes) &&
          !__builtin_add_overflow(sum, sizes[i].bytes, &sum) && (most <= 0 || sum <= most)) {
        continue;
      }
      return fail(platform_error(PlatformFault::kLimit,
                                 "a shared buffer of " + std::to_string(elements) +
                                     " elements of " +
                                     std::to_string(info.shared[i].element_bytes) +
                                     " bytes; the work groups of this device have " +
                                     std::to_string(most) + " bytes of memory",
                                 "launch of " + info.entry));
    }
    return {};
  }

  // Launches one kernel with arguments at `places`.
  Status launch(const LaunchInfo& info, KernelId kernel, Places& places,
                std::span<const int64_t> scalars, StreamId stream, DeviceKernel* object) {
    Row<int64_t> values;
    for (size_t i = 0; i < info.scalars.size(); ++i) values.set(i, scalars[info.scalars[i]]);
    int64_t extent = 0;
    if (!evaluate_into(info.extent, scalars, extent)) {
      return fail(evaluate(info.extent, scalars).error());
    }
    extent = std::max<int64_t>(extent, 0);  // a loop of negative extent has no iterations
    GridRest grid = {1, 1};
    for (size_t i = 0; i < info.grid.size(); ++i) {
      TAPML_ASSIGN(grid[i], evaluate(info.grid[i], scalars));
      grid[i] = std::max<int64_t>(grid[i], 0);
    }
    SharedSize shared[kMostSharedBuffers];
    TAPML_TRY(shared_sizes(info, scalars, shared));
    if (object) {
      Row<BufferArg> buffers;
      for (size_t i = 0; i < info.buffers.size(); ++i) {
        const Place& place = places[info.buffers[i]];
        buffers.set(i, {place.memory, place.offset});
      }
      LaunchArgs args;
      args.buffers = buffers.first(info.buffers.size());
      args.scalars = values.first(info.scalars.size());
      args.extent = extent;
      args.workgroup_threads = info.workgroup_threads;
      args.grid = grid;
      args.shared = std::span(shared).first(info.shared.size());
      return local->launch(stream, *object, info.entry, args);
    }
    Row<BufferRange> buffers;
    for (size_t i = 0; i < info.buffers.size(); ++i) {
      const Place& place = places[info.buffers[i]];
      buffers.set(i, {place.buffer, place.offset});
    }
    LaunchRequest request;
    request.kernel = kernel;
    request.buffers = buffers.first(info.buffers.size());
    request.scalars = values.first(info.scalars.size());
    request.extent = extent;
    request.workgroup_threads = info.workgroup_threads;
    request.grid = grid;
    request.shared = std::span(shared).first(info.shared.size());
    return session.launch(stream, request);
  }

  Session& session;
  LocalSession* local;      // the session if its device is in this process, else null
  const int64_t alignment;  // bytes: arguments begin at multiples of it
  std::shared_ptr<const Executable> executable;
  Arena arena;    // workspaces
  Arena aligned;  // copies of misaligned arguments
  std::vector<ModuleId> modules;
  std::vector<KernelId> kernels;
  std::vector<Ready> ready;  // by kernel
};

KernelRunner::KernelRunner() = default;
KernelRunner::~KernelRunner() = default;

Result<std::unique_ptr<KernelRunner>> KernelRunner::create(
    Session& session, std::shared_ptr<const Executable> executable, BeyondLimits beyond,
    Deadline deadline) noexcept {
  if (!executable) return fail(internal_error("a runner without an executable"));
  TAPML_TRY(validate(*executable));
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): running out of these few bytes is fatal
  std::unique_ptr<KernelRunner> runner(new KernelRunner);
  runner->state_ = std::make_unique<State>(session, std::move(executable));
  TAPML_TRY(runner->state_->load(beyond, deadline));
  return runner;
}

Session& KernelRunner::session() const { return state_->session; }
const Executable& KernelRunner::executable() const { return *state_->executable; }

bool KernelRunner::has(int32_t kernel) const noexcept {
  return kernel >= 0 && static_cast<size_t>(kernel) < state_->ready.size() &&
         state_->ready[kernel].implementation != nullptr;
}

Status KernelRunner::enqueue(int32_t kernel, Arguments args, std::span<const int64_t> scalars,
                             StreamId stream, const Scratch& scratch) noexcept {
  const Executable& executable = *state_->executable;
  if (kernel < 0 || static_cast<size_t>(kernel) >= executable.kernels.size()) {
    return fail(internal_error("the executable has no kernel " + std::to_string(kernel)));
  }
  const KernelInfo& info = executable.kernels[kernel];
  const Ready& ready = state_->ready[kernel];
  if (!ready.implementation) {
    return fail(internal_error(
        "the executable for " + executable.target + " does not implement this kernel",
        "kernel " + info.name));
  }
  if (ready.refused) return fail(*ready.refused);
  const Implementation& implementation = *ready.implementation;
  if (!ready.rules.fit(args, scalars)) {
    TAPML_TRY(check_arguments(info, args, scalars, implementation.segments, state_->session));
  }

  size_t workspaces = args.size(), segments = workspaces + implementation.workspaces.size();
  Places places(segments + implementation.segments.size());
  bool aligned = true;
  for (size_t i = 0; i < args.size(); ++i) {
    const Tensor& arg = args[i];
    places[i] = {arg.storage->buffer(), arg.storage->memory(), arg.offset};
    aligned &= arg.offset % state_->alignment == 0;
  }
  if (!aligned) {
    TAPML_ASSIGN(std::vector<Tensor> placed, state_->align(info, args, stream));
    for (size_t i : ready.written) args[i].storage->written(args[i].offset, args[i].byte_size());
    TAPML_TRY(enqueue(kernel, placed, scalars, stream, scratch));
    for (size_t i : ready.written) {
      if (placed[i].storage != args[i].storage) TAPML_TRY(state_->copy(placed[i], args[i], stream));
    }
    return {};
  }
  std::shared_ptr<Storage> held;
  if (!implementation.workspaces.empty()) {
    TAPML_TRY(state_->place_scratch(info, implementation, scalars, stream, places, workspaces,
                                    scratch, held));
  }
  for (size_t i = 0; i < implementation.segments.size(); ++i) {
    const Segment& segment = implementation.segments[i];
    places[segments + i] = places[segment.param];
    // A segment after the end of a smaller tensor is not accessed.
    int64_t bytes = args[segment.param].byte_size();
    places[segments + i].offset += segment.offset < bytes ? segment.offset : 0;
  }
  for (const LaunchInfo& launch : implementation.launches) {
    if (!launch.limits.empty() && is_chosen(launch, scalars)) {
      TAPML_TRY(check_launch(info, launch, scalars));
    }
  }
  // Before the launches: remote copies become stale even if a write fails halfway.
  for (size_t i : ready.written) args[i].storage->written(args[i].offset, args[i].byte_size());
  for (size_t i = 0; i < implementation.launches.size(); ++i) {
    const LaunchInfo& launch = implementation.launches[i];
    if ((launch.prepares && scratch.prepared) || !is_chosen(launch, scalars)) continue;
    DeviceKernel* object = ready.objects.empty() ? nullptr : ready.objects[i].get();
    TAPML_TRY(state_->launch(launch, ready.kernels[i], places, scalars, stream, object));
  }
  return {};
}

Status KernelRunner::prepare(int32_t kernel, Arguments sources, const Tensor& out,
                             StreamId stream) noexcept {
  if (!has(kernel)) {
    return fail(internal_error("the executable has no kernel " + std::to_string(kernel)));
  }
  const KernelInfo& info = state_->executable->kernels[kernel];
  const Ready& ready = state_->ready[kernel];
  if (ready.refused) return fail(*ready.refused);
  const Implementation& implementation = *ready.implementation;
  const std::vector<int32_t> params = prepared_sources(implementation, info);
  if (sources.size() != params.size()) {
    return fail(internal_error("a preparation of " + std::to_string(sources.size()) +
                                   " tensors, not " + std::to_string(params.size()),
                               "kernel " + info.name));
  }
  Places places(info.params.size() + implementation.workspaces.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    const Tensor& source = sources[i];
    const auto param = static_cast<size_t>(params[i]);
    TAPML_TRY(check_argument(info, info.params[param], source, {}, false, state_->session));
    places[param] = {source.storage->buffer(), source.storage->memory(), source.offset};
  }
  if (!out.storage || &out.storage->session() != &state_->session ||
      !has_prepared(implementation)) {
    return fail(
        internal_error("there is nothing to prepare, or no memory for it", "kernel " + info.name));
  }
  // Workspaces are not accessed, so any location is valid.
  size_t next = info.params.size();
  int64_t total = 0;
  for (const ParamInfo& tensor : implementation.workspaces) {
    Place& place = places[next++];
    place = {out.storage->buffer(), out.storage->memory(), out.offset};
    if (tensor.mode != AccessMode::kPrepared) continue;
    TAPML_ASSIGN(int64_t bytes, param_bytes(tensor, {}));
    TAPML_TRY(check_binding(bytes, state_->session.info().limits,
                            "kernel " + info.name + ", prepared tensor " + tensor.name));
    place.offset += total;
    total += round_up(bytes, kScratchAlignment);
  }
  TAPML_TRY(State::check_room("prepared tensors", total, out.byte_size(), info));
  out.storage->written();
  for (size_t i = 0; i < implementation.launches.size(); ++i) {
    const LaunchInfo& launch = implementation.launches[i];
    if (!launch.prepares) continue;
    DeviceKernel* object = ready.objects.empty() ? nullptr : ready.objects[i].get();
    TAPML_TRY(state_->launch(launch, ready.kernels[i], places, {}, stream, object));
  }
  return {};
}

}  // namespace tapml::runtime
