#include "runtime/offload.h"

namespace tapml::runtime {

namespace {

bool overlap(const Tensor& a, const Tensor& b) {
  return a.storage == b.storage && a.offset < b.offset + b.byte_size() &&
         b.offset < a.offset + a.byte_size();
}

// Whether out argument `i` overlaps an input: the planner proved that the source's kernels support
// that, others may not.
bool lies_over_input(const std::vector<ParamInfo>& params, Arguments args, size_t i) {
  if (params[i].mode != AccessMode::kOut) return false;
  for (size_t j = 0; j < args.size(); ++j) {
    if (params[j].mode == AccessMode::kIn && overlap(args[i], args[j])) return true;
  }
  return false;
}

}  // namespace

Offload::Offload(KernelRunner& target, Residency& residency)
    : target_(target), residency_(residency) {
  const std::vector<KernelInfo>& kernels = target.executable().kernels;
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels_.emplace(kernels[i].name, static_cast<int32_t>(i));
  }
}

Status Offload::call(const CallSite& site, Arguments args,
                     std::span<const int64_t> scalars) noexcept {
  const std::string where = "kernel " + site.kernel->name;
  const auto kernel = kernels_.find(site.kernel->name);
  if (kernel == kernels_.end()) {
    return fail(internal_error("a call was dispatched to a platform without its kernel", where));
  }
  if (args.size() != site.kernel->params.size()) {
    return fail(internal_error("a call with " + std::to_string(args.size()) + " tensors for " +
                                   std::to_string(site.kernel->params.size()) + " parameters",
                               where));
  }
  const bool beside = !args.empty() && &args[0].storage->session() == &target_.session();
  TAPML_TRY(beside ? call_beside(kernel->second, site, args, scalars)
                   : call_there(kernel->second, site, args, scalars));
  ++calls_;
  return {};
}

// On the VM's session.
Status Offload::call_beside(int32_t kernel, const CallSite& site, Arguments args,
                            std::span<const int64_t> scalars) noexcept {
  Session& session = target_.session();
  std::vector<Tensor> tensors(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    tensors[i] = args[i];
    if (!lies_over_input(site.kernel->params, args, i)) continue;
    TAPML_ASSIGN(tensors[i], make_tensor(session, args[i].dtype, args[i].shape));
  }
  TAPML_TRY(target_.enqueue(kernel, tensors, scalars));
  for (size_t i = 0; i < args.size(); ++i) {
    if (tensors[i].storage == args[i].storage) continue;
    TAPML_TRY(session.copy(kDefaultStream, {tensors[i].storage->buffer(), tensors[i].offset},
                           {args[i].storage->buffer(), args[i].offset}, args[i].byte_size()));
    args[i].storage->written(args[i].offset, args[i].byte_size());
  }
  return {};
}

Status Offload::call_there(int32_t kernel, const CallSite& site, Arguments args,
                           std::span<const int64_t> scalars) noexcept {
  const std::vector<ParamInfo>& params = site.kernel->params;
  std::vector<Tensor> copies(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    if (lies_over_input(params, args, i)) {
      TAPML_ASSIGN(copies[i], make_tensor(target_.session(), args[i].dtype, args[i].shape));
      continue;
    }
    TAPML_ASSIGN(copies[i], params[i].mode == AccessMode::kOut ? residency_.output_for(args[i])
                                                               : residency_.on_target(args[i]));
  }
  TAPML_TRY(target_.enqueue(kernel, copies, scalars));
  for (size_t i = 0; i < args.size(); ++i) {
    if (params[i].mode != AccessMode::kIn) TAPML_TRY(residency_.bring_back(copies[i], args[i]));
  }
  // Only now are the versions final: two outputs may share a storage.
  for (size_t i = 0; i < args.size(); ++i) {
    if (params[i].mode != AccessMode::kIn) residency_.keep(args[i], copies[i]);
  }
  return {};
}

}  // namespace tapml::runtime
