#include "runtime/kernel_arguments.h"

#include <limits>

#include "runtime/scalars.h"

namespace tapml::runtime {

namespace {

std::string where_of(const KernelInfo& kernel, const ParamInfo& param) {
  return "kernel " + kernel.name + ", parameter " + param.name;
}

Error wrong_call(std::string message, std::string where, std::string expected, std::string found) {
  Error error = internal_error(std::move(message), std::move(where));
  error.expected = std::move(expected);
  error.found = std::move(found);
  return error;
}

// "n = 4, m = 2": the scalars of the dimensions.
std::string scalars_to_string(const KernelInfo& kernel, std::span<const int64_t> scalars) {
  std::string text;
  for (size_t i = 0; i < scalars.size(); ++i) {
    if (i > 0) text += ", ";
    text += kernel.scalars[i] + " = " + std::to_string(scalars[i]);
  }
  return text;
}

Result<Extents> param_shape(const ParamInfo& param, std::span<const int64_t> scalars) {
  Extents shape;
  shape.reset(param.dims.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    TAPML_ASSIGN(shape[i], evaluate(param.dims[i], scalars));
  }
  return shape;
}

Error wrong_shape(const KernelInfo& kernel, const ParamInfo& param, const Tensor& arg,
                  std::span<const int64_t> scalars) {
  auto shape = param_shape(param, scalars);
  if (!shape) return std::move(shape).error();
  std::string expected = shape_to_string(*shape);
  if (!scalars.empty()) expected += " (with " + scalars_to_string(kernel, scalars) + ")";
  return wrong_call("an argument of kernel " + kernel.name + " has the wrong shape",
                    where_of(kernel, param), expected, shape_to_string(arg.shape));
}

}  // namespace

Status check_argument(const KernelInfo& kernel, const ParamInfo& param, const Tensor& arg,
                      std::span<const int64_t> scalars, bool segmented,
                      const Session& session) noexcept {
  if (!arg.storage || &arg.storage->session() != &session) {
    return fail(internal_error(
        arg.storage ? "an argument is on another session" : "an argument has no storage",
        where_of(kernel, param)));
  }
  if (arg.dtype != param.dtype) {
    return fail(wrong_call("an argument of kernel " + kernel.name + " has the wrong dtype",
                           where_of(kernel, param), dtype_name(param.dtype),
                           dtype_name(arg.dtype)));
  }
  if (arg.shape.size() != param.dims.size()) {
    return fail(wrong_shape(kernel, param, arg, scalars));
  }
  for (size_t i = 0; i < arg.shape.size(); ++i) {
    TAPML_ASSIGN(int64_t dim, evaluate(param.dims[i], scalars));
    if (dim != arg.shape[i]) return fail(wrong_shape(kernel, param, arg, scalars));
  }
  TAPML_ASSIGN(int64_t bytes, checked_byte_count(arg.dtype, arg.shape));
  if (arg.offset < 0 || arg.offset > arg.storage->bytes() ||
      bytes > arg.storage->bytes() - arg.offset ||
      arg.offset % static_cast<int64_t>(dtype_bytes(arg.dtype)) != 0) {
    return fail(
        wrong_call("an argument is outside of its storage or not aligned to its elements",
                   where_of(kernel, param),
                   "a range within " + std::to_string(arg.storage->bytes()) + " bytes",
                   std::to_string(bytes) + " bytes at offset " + std::to_string(arg.offset)));
  }
  if (!segmented && bytes > session.info().limits.max_binding_bytes) {
    return check_binding(bytes, session.info().limits, where_of(kernel, param));
  }
  return {};
}

namespace {

Error beyond_limit(const KernelInfo& kernel, const LaunchLimit& limit, const Result<int64_t>& value,
                   std::span<const int64_t> scalars) {
  Error error = platform_error(
      PlatformFault::kLimit,
      "kernel " + kernel.name + " is called beyond the limits of its code: " + limit.what + " is " +
          (value ? std::to_string(*value) : std::string("more than 64 bits hold")),
      "kernel " + kernel.name + ", " + limit.what);
  error.expected = "at most " + std::to_string(limit.most);
  error.found = value ? std::to_string(*value) : std::string("beyond 64 bits");
  if (!scalars.empty()) error.found += " (with " + scalars_to_string(kernel, scalars) + ")";
  return error;
}

}  // namespace

Status check_launch(const KernelInfo& kernel, const LaunchInfo& launch,
                    std::span<const int64_t> scalars) noexcept {
  for (const LaunchLimit& limit : launch.limits) {
    Result<int64_t> value = evaluate(limit.value, scalars);
    if (value && *value <= limit.most) continue;
    return fail(beyond_limit(kernel, limit, value, scalars));
  }
  return {};
}

Status check_binding(int64_t bytes, const Limits& limits, const std::string& where) noexcept {
  if (limits.max_binding_bytes == 0 || bytes <= limits.max_binding_bytes) return {};
  return fail(platform_error(PlatformFault::kLimit,
                             "a tensor of " + std::to_string(bytes) +
                                 " bytes exceeds what a kernel can bind on this device (" +
                                 std::to_string(limits.max_binding_bytes) + " bytes)",
                             where));
}

Status check_arguments(const KernelInfo& kernel, Arguments args, std::span<const int64_t> scalars,
                       std::span<const Segment> segments, const Session& session) noexcept {
  if (args.size() != kernel.params.size() || scalars.size() != kernel.scalars.size()) {
    return fail(wrong_call("a call of kernel " + kernel.name + " does not match its signature",
                           "kernel " + kernel.name,
                           std::to_string(kernel.params.size()) + " tensors and " +
                               std::to_string(kernel.scalars.size()) + " scalars",
                           std::to_string(args.size()) + " and " + std::to_string(scalars.size())));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    bool segmented = false;
    for (const Segment& segment : segments) segmented |= static_cast<size_t>(segment.param) == i;
    TAPML_TRY(check_argument(kernel, kernel.params[i], args[i], scalars, segmented, session));
  }
  return {};
}

ArgumentRules::ArgumentRules(const KernelInfo& kernel, std::span<const Segment> segments,
                             const Session& session)
    : session_(&session), scalars_(kernel.scalars.size()) {
  int64_t most = session.info().limits.max_binding_bytes;
  if (most == 0) most = std::numeric_limits<int64_t>::max();
  for (const ParamInfo& info : kernel.params) {
    params_.push_back({&info, most, static_cast<int64_t>(dtype_bytes(info.dtype))});
  }
  for (const Segment& segment : segments) {
    params_[segment.param].most_bytes = std::numeric_limits<int64_t>::max();
  }
}

bool ArgumentRules::fit(Arguments args, std::span<const int64_t> scalars) const noexcept {
  if (args.size() != params_.size() || scalars.size() != scalars_) return false;
  for (size_t i = 0; i < params_.size(); ++i) {
    const Param& param = params_[i];
    const std::vector<ScalarProgram>& dims = param.info->dims;
    const Tensor& arg = args[i];
    if (!arg.storage || &arg.storage->session() != session_ || arg.dtype != param.info->dtype ||
        arg.shape.size() != dims.size()) {
      return false;
    }
    const int64_t* shape = arg.shape.data();
    int64_t bytes = param.element_bytes;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t dim = 0;
      if (!evaluate_into(dims[d], scalars, dim) || dim != shape[d] || dim <= 0 ||
          __builtin_mul_overflow(bytes, dim, &bytes)) {
        return false;
      }
    }
    if (arg.offset < 0 || bytes > arg.storage->bytes() - arg.offset || bytes > param.most_bytes ||
        (arg.offset & (param.element_bytes - 1)) != 0) {
      return false;
    }
  }
  return true;
}

Result<int64_t> param_bytes(const ParamInfo& param, std::span<const int64_t> scalars) noexcept {
  TAPML_ASSIGN(Extents shape, param_shape(param, scalars));
  return checked_byte_count(param.dtype, shape);
}

}  // namespace tapml::runtime
