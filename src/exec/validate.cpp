#include "exec/validate.h"

#include <map>
#include <set>
#include <string_view>

#include "exec/library_code.h"
#include "exec/validate_function.h"

namespace tapml {

namespace {

Status check_param(const ParamInfo& param, const KernelInfo& kernel, bool workspace) {
  std::string where =
      "kernel " + kernel.name + (workspace ? ", workspace " : ", parameter ") + param.name;
  if (!is_known(param.dtype)) return fail(refused(where, "its dtype is unknown"));
  bool mode_fits = workspace
                       ? param.mode == AccessMode::kWorkspace || param.mode == AccessMode::kPrepared
                       : param.mode == AccessMode::kIn || param.mode == AccessMode::kOut ||
                             param.mode == AccessMode::kInOut;
  if (!mode_fits) return fail(refused(where, "its access mode is not allowed"));
  if (param.dims.size() > kMaxRank) return fail(refused(where, "it has too many dimensions"));
  for (size_t i = 0; i < param.dims.size(); ++i) {
    TAPML_TRY(check_program(param.dims[i], kernel.scalars.size(),
                            where + ", dimension " + std::to_string(i)));
  }
  return {};
}

Status check_kernels(const Executable& executable) {
  std::set<std::string_view> names;
  for (const KernelInfo& kernel : executable.kernels) {
    if (!names.insert(kernel.name).second) {
      return fail(refused("kernel " + kernel.name, "two kernels have this name"));
    }
    for (const ParamInfo& param : kernel.params) TAPML_TRY(check_param(param, kernel, false));
  }
  return {};
}

Status check_launch(const LaunchInfo& launch, const KernelInfo& kernel, size_t tensors,
                    const ModuleBlob& module) {
  std::string where = "kernel " + kernel.name + ", launch of " + launch.entry;
  bool listed = false;
  for (const std::string& entry : module.entries) listed |= entry == launch.entry;
  if (!listed) return fail(refused(where, "its module does not list this entry"));
  TAPML_TRY(check_program(launch.extent, kernel.scalars.size(), where + ", extent"));
  if (launch.workgroup_threads < 1) {
    return fail(refused(where, "a work group of " + std::to_string(launch.workgroup_threads)));
  }
  if (launch.grid.size() > GridRest().size()) {
    return fail(
        refused(where, "a grid of " + std::to_string(launch.grid.size() + 1) + " dimensions"));
  }
  for (const ScalarProgram& groups : launch.grid) {
    TAPML_TRY(check_program(groups, kernel.scalars.size(), where + ", grid"));
  }
  if (launch.shared.size() > kMostSharedBuffers) {
    return fail(
        refused(where, std::to_string(launch.shared.size()) + " shared buffers of symbolic size"));
  }
  for (const SharedBufferInfo& shared : launch.shared) {
    TAPML_TRY(check_program(shared.elements, kernel.scalars.size(), where + ", shared buffer"));
    if (shared.element_bytes < 1 || shared.element_bytes > 8) {
      return fail(refused(where, "a shared buffer with elements of " +
                                     std::to_string(shared.element_bytes) + " bytes"));
    }
  }
  for (int32_t buffer : launch.buffers) TAPML_TRY(check_index(buffer, tensors, where, "buffer"));
  for (int32_t scalar : launch.scalars) {
    TAPML_TRY(check_index(scalar, kernel.scalars.size(), where, "scalar"));
  }
  for (const LaunchLimit& limit : launch.limits) {
    TAPML_TRY(check_program(limit.value, kernel.scalars.size(), where + ", " + limit.what));
  }
  if (!launch.when.code.empty()) {
    TAPML_TRY(check_program(launch.when, kernel.scalars.size(), where + ", condition"));
  }
  return {};
}

Status check_segment(const Segment& segment, const KernelInfo& kernel) {
  std::string where = "kernel " + kernel.name + ", a segment";
  TAPML_TRY(check_index(segment.param, kernel.params.size(), where, "parameter"));
  const ParamInfo& param = kernel.params[static_cast<size_t>(segment.param)];
  Shape shape;
  for (size_t d = 0; d < param.dims.size(); ++d) {
    auto extent = evaluate(param.dims[d], {});
    if (!extent && d > 0) return fail(refused(where, "it is part of a tensor of symbolic rows"));
    // The segment's own number of rows is assumed: the launcher fits it to the actual tensor.
    shape.push_back(extent ? *extent : -1);
  }
  auto width = static_cast<int64_t>(dtype_bytes(param.dtype));
  bool outside =
      shape.empty() || segment.offset < 0 || segment.bytes <= 0 || segment.offset % width != 0;
  if (!outside && shape[0] >= 0) {
    auto bytes = checked_byte_count(param.dtype, shape);
    outside = !bytes || segment.offset > *bytes || segment.bytes > *bytes - segment.offset;
  }
  if (outside) {
    return fail(refused(where, "it is outside of its tensor or not aligned to its elements"));
  }
  return {};
}

// A preparing launch may only use what exists at load: `in` parameters and prepared scratch, no
// scalars. How other launches use prepared scratch is not checked.
Status check_preparing(const LaunchInfo& launch, const Implementation& implementation,
                       const KernelInfo& kernel) {
  std::string where = "kernel " + kernel.name + ", preparing launch of " + launch.entry;
  for (int32_t buffer : launch.buffers) {
    auto at = static_cast<size_t>(buffer);
    const size_t scratch = at - kernel.params.size();
    const bool fits = at < kernel.params.size()
                          ? kernel.params[at].mode == AccessMode::kIn
                          : scratch < implementation.workspaces.size() &&
                                implementation.workspaces[scratch].mode == AccessMode::kPrepared;
    if (!fits) return fail(refused(where, "it uses data that is not available at load"));
  }
  bool fixed = launch.scalars.empty() && launch.limits.empty() && launch.when.code.empty() &&
               evaluate(launch.extent, {}).has_value();
  for (const ScalarProgram& groups : launch.grid) fixed &= evaluate(groups, {}).has_value();
  for (const SharedBufferInfo& shared : launch.shared) {
    fixed &= evaluate(shared.elements, {}).has_value();
  }
  if (!fixed) {
    return fail(refused(where, "it depends on scalars"));
  }
  return {};
}

Status check_prepared(const Implementation& implementation, const KernelInfo& kernel) {
  for (const LaunchInfo& launch : implementation.launches) {
    if (launch.prepares) TAPML_TRY(check_preparing(launch, implementation, kernel));
  }
  if (!has_prepared(implementation)) return {};
  if (auto bytes = prepared_bytes(implementation); !bytes) {
    return fail(refused("kernel " + kernel.name + ", prepared scratch", bytes.error().message));
  }
  for (int32_t source : prepared_sources(implementation, kernel)) {
    for (const ScalarProgram& dim : kernel.params[static_cast<size_t>(source)].dims) {
      if (evaluate(dim, {})) continue;
      return fail(refused("kernel " + kernel.name, "a tensor of symbolic shape is prepared"));
    }
  }
  return {};
}

Status check_implementations(const Executable& executable) {
  std::set<int32_t> implemented;
  std::map<int32_t, std::vector<LibraryCode>> library_calls;  // by module
  for (size_t i = 0; i < executable.modules.size(); ++i) {
    if (executable.modules[i].format != kLibraryFormat) continue;
    auto code = read_library_module(executable.modules[i]);
    if (!code) return fail(refused("module " + std::to_string(i), code.error().message));
    library_calls[static_cast<int32_t>(i)] = std::move(*code);
  }
  for (size_t i = 0; i < executable.implementations.size(); ++i) {
    const Implementation& implementation = executable.implementations[i];
    std::string where = "implementation " + std::to_string(i);
    TAPML_TRY(check_index(implementation.kernel, executable.kernels.size(), where, "kernel"));
    const KernelInfo& kernel = executable.kernels[implementation.kernel];
    where = "kernel " + kernel.name;
    if (!implemented.insert(implementation.kernel).second) {
      return fail(refused(where, "it has two implementations"));
    }
    TAPML_TRY(check_index(implementation.module, executable.modules.size(), where, "module"));
    for (const ParamInfo& workspace : implementation.workspaces) {
      TAPML_TRY(check_param(workspace, kernel, true));
    }
    for (const Segment& segment : implementation.segments) {
      TAPML_TRY(check_segment(segment, kernel));
    }
    size_t tensors =
        kernel.params.size() + implementation.workspaces.size() + implementation.segments.size();
    for (const LaunchInfo& launch : implementation.launches) {
      TAPML_TRY(check_launch(launch, kernel, tensors, executable.modules[implementation.module]));
      if (auto calls = library_calls.find(implementation.module); calls != library_calls.end()) {
        TAPML_TRY(
            check_library_launch(calls->second, launch, where + ", launch of " + launch.entry));
      }
    }
    TAPML_TRY(check_prepared(implementation, kernel));
  }
  return {};
}

Status check_constants(const Executable& executable) {
  for (size_t i = 0; i < executable.constants.size(); ++i) {
    const HostTensor& constant = executable.constants[i];
    std::string where = "constant " + std::to_string(i);
    if (!is_known(constant.dtype())) return fail(refused(where, "its dtype is unknown"));
    auto bytes = checked_byte_count(constant.dtype(), constant.shape());
    if (!bytes) return fail(refused(where, bytes.error().message));
    if (*bytes > 0 && constant.bytes().data() == nullptr) {
      return fail(refused(where, "it has no bytes"));
    }
  }
  return {};
}

}  // namespace

Status validate(const Executable& executable) {
  TAPML_TRY(check_kernels(executable));
  TAPML_TRY(check_implementations(executable));
  TAPML_TRY(check_constants(executable));
  for (size_t i = 0; i < executable.call_sites.size(); ++i) {
    TAPML_TRY(check_index(executable.call_sites[i].kernel, executable.kernels.size(),
                          "call site " + std::to_string(i), "kernel"));
  }
  for (int64_t bytes : executable.static_storages) {
    if (bytes < 0) return fail(refused("static storages", "one has a negative size"));
  }
  std::set<std::string_view> names;
  for (const VmFunction& function : executable.functions) {
    if (!names.insert(function.name).second) {
      return fail(refused("function " + function.name, "two functions have this name"));
    }
    TAPML_TRY(check_function(executable, function));
  }
  return {};
}

}  // namespace tapml
