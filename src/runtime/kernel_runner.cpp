#include <array>
#include <utility>

#include "exec/validate.h"
#include "runtime/arena.h"
#include "runtime/call_point.h"
#include "runtime/kernel_arguments.h"

namespace tapml::runtime {

namespace {

// Tensors and scalars of one launch.
constexpr size_t kMaxArguments = 64;
// Start of each workspace in the arena: the strictest alignment that a platform asks for.
constexpr int64_t kWorkspaceAlignment = 256;

// An implementation with its kernels at hand.
struct Ready {
  const Implementation* implementation = nullptr;  // null: this executable has none
  std::vector<KernelId> kernels;                   // one a launch
};

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
      : session(on), executable(std::move(what)), arena(on) {}

  ~State() {
    for (ModuleId module : modules) session.unload_module(module);
  }

  Status load() {
    std::map<int32_t, ModuleId> loaded;                                 // by index
    std::map<std::pair<int32_t, std::string>, KernelId> known_kernels;  // by module and entry
    ready.resize(executable->kernels.size());
    for (const Implementation& implementation : executable->implementations) {
      auto [module, fresh] = loaded.emplace(implementation.module, ModuleId{});
      if (fresh) {
        module->second = ModuleId{session.new_handle()};
        TAPML_TRY(session.load_module(module->second, executable->modules[implementation.module]));
        modules.push_back(module->second);
      }
      Ready& entry = ready[implementation.kernel];
      entry.implementation = &implementation;
      for (const Segment& segment : implementation.segments) {
        TAPML_TRY(check_binding(segment.bytes, session.info().limits,
                                "kernel " + executable->kernels[implementation.kernel].name +
                                    ", a segment of a tensor"));
      }
      for (const LaunchInfo& launch : implementation.launches) {
        TAPML_TRY(check_launch_limits(launch, session.info().limits,
                                      executable->kernels[implementation.kernel].name));
        auto [kernel, missing] =
            known_kernels.emplace(std::pair(implementation.module, launch.entry), KernelId{});
        if (missing) {
          kernel->second = KernelId{session.new_handle()};
          TAPML_TRY(session.get_kernel(kernel->second, module->second, launch.entry));
        }
        entry.kernels.push_back(kernel->second);
      }
    }
    return {};
  }

  // Places for the workspaces in the stream's arena, behind the arguments in `ranges`.
  Status place_workspaces(const KernelInfo& kernel, const Implementation& implementation,
                          std::span<const int64_t> scalars, StreamId stream,
                          std::vector<BufferRange>& ranges) {
    int64_t total = 0;
    size_t first = ranges.size();
    for (const ParamInfo& workspace : implementation.workspaces) {
      TAPML_ASSIGN(int64_t bytes, param_bytes(workspace, scalars));
      std::string where = "kernel " + kernel.name + ", workspace " + workspace.name;
      TAPML_TRY(check_binding(bytes, session.info().limits, where));
      ranges.push_back({BufferId{}, total});
      // An overflow leaves a negative total, which the allocation refuses.
      int64_t padded = 0;
      if (__builtin_add_overflow(bytes, kWorkspaceAlignment - 1, &padded) ||
          __builtin_add_overflow(total, padded / kWorkspaceAlignment * kWorkspaceAlignment,
                                 &total)) {
        return fail(platform_error(PlatformFault::kLimit,
                                   "the workspaces have more than 2^63 - 1 bytes", where));
      }
    }
    auto arena_storage = arena.get(stream, total);
    if (!arena_storage) {
      arena_storage.error().where = "workspaces of kernel " + kernel.name;
      return fail(std::move(arena_storage).error());
    }
    for (size_t i = first; i < ranges.size(); ++i) ranges[i].buffer = (*arena_storage)->buffer();
    return {};
  }

  Session& session;
  std::shared_ptr<const Executable> executable;
  Arena arena;
  std::vector<ModuleId> modules;
  std::vector<Ready> ready;  // by kernel
};

KernelRunner::KernelRunner() = default;
KernelRunner::~KernelRunner() = default;

Result<std::unique_ptr<KernelRunner>> KernelRunner::create(
    Session& session, std::shared_ptr<const Executable> executable) noexcept {
  if (!executable) return fail(internal_error("a runner of no executable"));
  TAPML_TRY(validate(*executable));
  std::unique_ptr<KernelRunner> runner(new KernelRunner);
  runner->state_ = std::make_unique<State>(session, std::move(executable));
  TAPML_TRY(runner->state_->load());
  return runner;
}

Session& KernelRunner::session() const { return state_->session; }
const Executable& KernelRunner::executable() const { return *state_->executable; }

bool KernelRunner::has(int32_t kernel) const noexcept {
  return kernel >= 0 && static_cast<size_t>(kernel) < state_->ready.size() &&
         state_->ready[kernel].implementation != nullptr;
}

Status KernelRunner::enqueue(int32_t kernel, std::span<const Tensor> args,
                             std::span<const int64_t> scalars, StreamId stream) noexcept {
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
  const Implementation& implementation = *ready.implementation;
  TAPML_TRY(check_arguments(info, args, scalars, implementation.segments, state_->session));

  std::vector<BufferRange> ranges;
  ranges.reserve(args.size() + implementation.workspaces.size() + implementation.segments.size());
  for (const Tensor& arg : args) ranges.push_back({arg.storage->buffer(), arg.offset});
  if (!implementation.workspaces.empty()) {
    TAPML_TRY(state_->place_workspaces(info, implementation, scalars, stream, ranges));
  }
  for (const Segment& segment : implementation.segments) {
    ranges.push_back({ranges[segment.param].buffer, ranges[segment.param].offset + segment.offset});
  }
  // Before the launches: a copy elsewhere must not outlive even a write that fails half-way.
  for (size_t i = 0; i < args.size(); ++i) {
    if (info.params[i].mode != AccessMode::kIn) args[i].storage->written();
  }
  for (size_t i = 0; i < implementation.launches.size(); ++i) {
    const LaunchInfo& launch = implementation.launches[i];
    std::array<BufferRange, kMaxArguments> buffers;
    std::array<int64_t, kMaxArguments> values;
    for (size_t j = 0; j < launch.buffers.size(); ++j) buffers[j] = ranges[launch.buffers[j]];
    for (size_t j = 0; j < launch.scalars.size(); ++j) values[j] = scalars[launch.scalars[j]];
    LaunchRequest request;
    request.kernel = ready.kernels[i];
    request.buffers = std::span<const BufferRange>(buffers.data(), launch.buffers.size());
    request.scalars = std::span<const int64_t>(values.data(), launch.scalars.size());
    request.workgroup_threads = launch.workgroup_threads;
    TAPML_ASSIGN(request.extent, evaluate(launch.extent, scalars));
    TAPML_TRY(state_->session.launch(stream, request));
  }
  return {};
}

}  // namespace tapml::runtime
