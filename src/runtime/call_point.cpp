#include "runtime/call_point.h"

#include "runtime/vm.h"

namespace tapml::runtime {

namespace {

// The bytes of `copy` on another session, now also in `original`. Waits for the target.
Status bring_back(const Tensor& copy, const Tensor& original) {
  TAPML_ASSIGN(HostTensor bytes, download(copy));
  TAPML_TRY(original.storage->session().write(
      kDefaultStream, {original.storage->buffer(), original.offset}, bytes.bytes()));
  original.storage->written(original.offset, original.byte_size());
  return {};
}

bool overlap(const Tensor& a, const Tensor& b) {
  return a.storage == b.storage && a.offset < b.offset + b.byte_size() &&
         b.offset < a.offset + a.byte_size();
}

// Whether out argument `i` lies where an input lies: the planner proved that the source's kernels
// bear that, others may not.
bool lies_over_input(const std::vector<ParamInfo>& params, Arguments args, size_t i) {
  if (params[i].mode != AccessMode::kOut) return false;
  for (size_t j = 0; j < args.size(); ++j) {
    if (params[j].mode == AccessMode::kIn && overlap(args[i], args[j])) return true;
  }
  return false;
}

}  // namespace

Status CallPoint::call(const CallSite& site, Arguments args, std::span<const int64_t> scalars,
                       const Scratch& scratch) noexcept {
  int64_t sequence = sequence_++;
  if (observer_ != nullptr && observer_->wants(site, sequence)) {
    return observe(KernelCall{site, sequence, args, scalars}, scratch);
  }
  return compute(site, args, scalars, scratch);
}

Status CallPoint::call_packed(const PackedCall& call, const HostFunction& function,
                              Value& result) noexcept {
  if (observer_ != nullptr) observer_->packed(call);
  TAPML_ASSIGN(result, function(source_.session(), call.args));
  return {};
}

Status CallPoint::observe(const KernelCall& call, const Scratch& scratch) noexcept {
  // What came before must not be blamed on this call, neither its errors nor its time.
  TAPML_TRY(source_.session().synchronize(kDefaultStream));
  TAPML_TRY(observer_->before(call));
  TAPML_TRY(compute(call.site, call.args, call.scalars, scratch));
  TAPML_TRY(source_.session().synchronize(kDefaultStream));
  return observer_->after(call);
}

Status CallPoint::compute(const CallSite& site, Arguments args, std::span<const int64_t> scalars,
                          const Scratch& scratch) noexcept {
  if (dispatcher_) {
    Dispatcher::Route route = dispatcher_->route(site);
    if (route.runner != nullptr && route.runner != &source_) {
      TAPML_TRY(dispatch(route, site, args, scalars));
      ++dispatched_;
      return {};
    }
  }
  int32_t kernel = static_cast<int32_t>(site.kernel - source_.executable().kernels.data());
  return source_.enqueue(kernel, args, scalars, kDefaultStream, scratch);
}

Status CallPoint::dispatch(const Dispatcher::Route& route, const CallSite& site, Arguments args,
                           std::span<const int64_t> scalars) noexcept {
  Session& target = route.runner->session();
  const std::vector<ParamInfo>& params = site.kernel->params;
  if (args.size() != params.size()) {
    return fail(internal_error("a call with " + std::to_string(args.size()) + " tensors for " +
                                   std::to_string(params.size()) + " parameters",
                               "kernel " + site.kernel->name));
  }
  std::vector<Tensor> copies(args.size());
  if (&target == &source_.session()) {
    for (size_t i = 0; i < args.size(); ++i) {
      copies[i] = args[i];
      if (!lies_over_input(params, args, i)) continue;
      TAPML_ASSIGN(copies[i], make_tensor(target, args[i].dtype, args[i].shape));
    }
    TAPML_TRY(route.runner->enqueue(route.kernel, copies, scalars));
    for (size_t i = 0; i < args.size(); ++i) {
      if (copies[i].storage == args[i].storage) continue;
      TAPML_TRY(target.copy(kDefaultStream, {copies[i].storage->buffer(), copies[i].offset},
                            {args[i].storage->buffer(), args[i].offset}, args[i].byte_size()));
      args[i].storage->written(args[i].offset, args[i].byte_size());
    }
    return {};
  }
  Residency& residency = residency_.try_emplace(&target, target, &copies_).first->second;
  for (size_t i = 0; i < args.size(); ++i) {
    if (lies_over_input(params, args, i)) {
      TAPML_ASSIGN(copies[i], make_tensor(target, args[i].dtype, args[i].shape));
      continue;
    }
    TAPML_ASSIGN(copies[i], params[i].mode == AccessMode::kOut ? residency.output_for(args[i])
                                                               : residency.on_target(args[i]));
  }
  TAPML_TRY(route.runner->enqueue(route.kernel, copies, scalars));
  for (size_t i = 0; i < args.size(); ++i) {
    if (params[i].mode == AccessMode::kIn) continue;
    TAPML_TRY(bring_back(copies[i], args[i]));
    ++copies_.from_target;
    copies_.bytes_from_target += args[i].byte_size();
  }
  // Only now are the versions final: two outputs may share a storage.
  for (size_t i = 0; i < args.size(); ++i) {
    if (params[i].mode != AccessMode::kIn) residency.keep(args[i], copies[i]);
  }
  return {};
}

}  // namespace tapml::runtime
