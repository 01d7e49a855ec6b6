#include "topdown/suite/carve.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "tensor/uninitialized.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/tensor_file.h"

namespace tapml::topdown {

namespace {

constexpr int64_t kMostAdded = 2;  // calls

HostTensor copy_of(const HostTensor& tensor) {
  HostTensor copy = uninitialized_tensor(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.bytes(), copy.mutable_bytes().begin());
  return copy;
}

runtime::CapturePlan capture_plan(const Executable& executable, const CarveOptions& options) {
  runtime::CapturePlan plan;
  plan.calls = options.calls_per_kernel;
  for (const std::string& name : options.kernels) {
    const int32_t kernel = executable.find_kernel(name);
    if (kernel >= 0) plan.kernels.push_back(kernel);
  }
  return plan;
}

}  // namespace

Carver::Carver(const Executable& executable, const CarveOptions& options)
    : executable_(executable),
      options_(options),
      plan_(capture_plan(executable, options)),
      observer_(executable, plan_, *this) {
  suite_.source = executable.target;
  suite_.fusion_policy = executable.fusion_policy;
  suite_.model = executable.model.architecture;
  if (!options.weights) return;
  suite_.model_folder = options.model_folder;
  suite_.quantization = options.quantization;
  for (const auto& [name, weight] : *options.weights) {
    weight_of_.emplace(content_hash(weight), name);
  }
}

Carver::Carver(const Executable& executable, int64_t calls_per_kernel)
    : Carver(executable, CarveOptions{.calls_per_kernel = calls_per_kernel}) {}

runtime::CapturePlan Carver::begin_added() {
  adding_ = true;
  runtime::CapturePlan plan = plan_;
  plan.calls = plan.calls == 0 ? kMostAdded : std::min(plan.calls, kMostAdded);
  return plan;
}

bool Carver::has(const std::string& hash) noexcept {
  return in_suite(hash) || lingering_.contains(hash) || held_.contains(hash);
}

Status Carver::content(const std::string& hash, const HostTensor& tensor, bool borrowed) noexcept {
  // Running out of memory is an error of the run and does not end the process.
  return guard([&] { unwrap(take_content(hash, tensor, borrowed)); });
}

Status Carver::call(runtime::CapturedCall call) noexcept {
  return guard([&] { unwrap(take_call(call)); });
}

std::vector<std::string> Carver::held() noexcept {
  std::vector<std::string> hashes;
  failed_ = guard([&] {
    if (options_.held) {
      for (const auto& [name, tensor] : *options_.held) held_.emplace(content_hash(tensor), tensor);
    }
    for (const HostTensor& constant : executable_.constants) {
      held_.emplace(content_hash(constant), constant);
    }
    for (const auto& [hash, tensor] : held_) hashes.push_back(hash);
    for (const auto& [hash, bytes] : kept_tensors_) hashes.push_back(hash);
  });
  return hashes;
}

std::vector<std::string> Carver::take_dropped() noexcept {
  lingers_ = true;
  std::vector<std::string> hashes;
  Status let_go = guard([&] {
    for (const auto& [hash, tensor] : lingering_) {
      if (!held_.contains(hash)) hashes.push_back(hash);
      if (options_.folder) unwrap(options_.folder->remove(hash));
    }
    lingering_.clear();
  });
  if (failed_) failed_ = std::move(let_go);
  return hashes;
}

Status Carver::take_content(const std::string& hash, const HostTensor& tensor, bool borrowed) {
  auto [content, fresh] = contents_.try_emplace(hash);
  if (fresh) {
    content->second.shape = tensor.shape();
    if (options_.budget_bytes > 0) content->second.summary = summarize(tensor);
  }
  if (auto weight = weight_of_.find(hash); weight != weight_of_.end()) {
    suite_.weights.insert(*weight);
    if (!options_.folder) suite_.tensors.emplace(hash, options_.weights->at(weight->second));
    return {};
  }
  if (content->second.bytes == 0) content->second.bytes = stored_bytes(tensor);
  if (kept_tensors_.contains(hash)) return {};
  return store(hash, borrowed && !options_.folder ? copy_of(tensor) : tensor);
}

Status Carver::store(const std::string& hash, const HostTensor& tensor) {
  if (options_.folder) {
    TAPML_TRY(options_.folder->put(hash, tensor));
  } else {
    suite_.tensors.emplace(hash, tensor);
  }
  const int64_t bytes = contents_.at(hash).bytes;
  kept_tensors_.emplace(hash, bytes);
  bytes_ += bytes;
  return {};
}

Status Carver::name(const std::string& hash) {
  if (hash.empty() || in_suite(hash)) return {};
  if (auto lingers = lingering_.find(hash); lingers != lingering_.end()) {
    const HostTensor tensor = std::move(lingers->second);
    lingering_.erase(lingers);
    return store(hash, tensor);
  }
  if (auto held = held_.find(hash); held != held_.end()) {
    return take_content(hash, held->second, false);
  }
  return fail(internal_error("a captured call names a content that was never sent", hash));
}

// The index of a kernel in the suite; a new kernel is added.
int32_t Carver::suite_kernel(int32_t number) {
  auto [it, fresh] = kernel_of_.emplace(number, -1);
  if (!fresh) return it->second;
  const KernelInfo& info = executable_.kernels[static_cast<size_t>(number)];
  int32_t kernel = suite_.find_kernel(info.name);
  if (kernel < 0) {
    SuiteKernel entry{info.name, info.spec, {}, {}, 0};
    for (const ParamInfo& param : info.params) {
      entry.params.push_back(param.name);
      entry.modes.push_back(param.mode);
    }
    suite_.kernels.push_back(std::move(entry));
    kernel = static_cast<int32_t>(suite_.kernels.size() - 1);
  }
  return it->second = kernel;
}

Status Carver::take_call(runtime::CapturedCall& captured) {
  TAPML_TRY(failed_);
  const CallSiteInfo& site = executable_.call_sites.at(static_cast<size_t>(captured.site));
  const KernelInfo& info = executable_.kernels[static_cast<size_t>(site.kernel)];
  const int32_t kernel = suite_kernel(site.kernel);
  if (!adding_) note_nan(info, site.origin, captured);
  if (!captured.kept) {
    if (adding_) return {};
    ++suite_.kernels[static_cast<size_t>(kernel)].dropped;
    return {};
  }
  for (const auto* hashes : {&captured.before, &captured.after}) {
    for (const std::string& hash : *hashes) TAPML_TRY(name(hash));
  }
  SuiteCall call;
  call.kernel = kernel;
  call.sequence = captured.sequence;
  call.function = site.function;
  call.added = adding_;
  call.origin = site.origin;
  call.scalars = std::move(captured.scalars);
  call.before = std::move(captured.before);
  call.after = std::move(captured.after);
  return commit(std::move(call));
}

bool Carver::passes_poison(const runtime::CapturedCall& captured) {
  if (!options_.fragmented || std::ranges::count(captured.nan_before, true) == 0) return false;
  if (!nan_weights_) {
    nan_weights_.emplace();
    for (const auto& [name, weight] : *options_.fragmented) {
      if (runtime::any_nan(weight)) nan_weights_->insert(content_hash(weight));
    }
  }
  return std::ranges::none_of(
      captured.before, [this](const std::string& hash) { return nan_weights_->contains(hash); });
}

void Carver::note_nan(const KernelInfo& info, const Origin& origin,
                      const runtime::CapturedCall& captured) {
  std::vector<std::string> inputs;
  std::string output;
  for (size_t i = 0; i < info.params.size(); ++i) {
    const bool before = captured.nan_before[i], after = captured.nan_after[i];
    if (before) inputs.push_back(info.params[i].name);
    if (!before && after && output.empty()) output = info.params[i].name;
  }
  if (output.empty() || passes_poison(captured)) return;
  if (!nan_) {
    nan_ = SourceNaN{info.name, output, captured.sequence, origin, std::move(inputs), 0};
  }
  ++nan_->calls;
}

std::vector<KernelUse> Carver::untested(const Suite& suite) const {
  std::vector<KernelUse> untested =
      untested_kernels(called_kernels(executable_, options_.functions), suite);
  if (!options_.kernels.empty()) {
    std::erase_if(untested,
                  [&](const KernelUse& use) { return !options_.kernels.contains(use.kernel); });
  }
  return untested;
}

Suite Carver::so_far(const std::string& incomplete) const {
  Suite suite = suite_;
  suite.incomplete = incomplete;
  suite.untested = untested(suite);
  return suite;
}

Suite Carver::take(const std::string& incomplete) {
  std::vector<bool> used(suite_.kernels.size(), false);
  for (size_t k = 0; k < used.size(); ++k) used[k] = suite_.kernels[k].dropped > 0;
  for (const SuiteCall& call : suite_.calls) used[static_cast<size_t>(call.kernel)] = true;
  std::vector<int32_t> number(used.size(), -1);
  std::vector<SuiteKernel> kernels;
  for (size_t k = 0; k < used.size(); ++k) {
    if (!used[k]) continue;
    number[k] = static_cast<int32_t>(kernels.size());
    kernels.push_back(std::move(suite_.kernels[k]));
  }
  suite_.kernels = std::move(kernels);
  for (SuiteCall& call : suite_.calls) call.kernel = number[static_cast<size_t>(call.kernel)];
  suite_.incomplete = incomplete;
  suite_.untested = untested(suite_);
  return std::move(suite_);
}

// Adds the call as a test, or counts one more repetition of a known test.
Status Carver::commit(SuiteCall call) {
  const std::string key = test_key(call);
  if (auto known = sequence_of_.find(key); known != sequence_of_.end()) {
    if (adding_) return {};
    SuiteCall& first = call_at(known->second);
    ++first.times;
    first.origin = merge_origins(first.origin, call.origin);
    return {};
  }
  sequence_of_.emplace(key, call.sequence);
  if (options_.budget_bytes > 0) {
    std::vector<CallSelection::Tensor> tensors;
    for (const auto* hashes : {&call.before, &call.after}) {
      for (const std::string& hash : *hashes) {
        if (hash.empty()) continue;
        const Content& content = contents_.at(hash);
        tensors.push_back({hash, content.shape, *content.summary, content.bytes});
      }
    }
    selection_.add(call.sequence, call, tensors);
  }
  suite_.calls.push_back(std::move(call));
  while (options_.budget_bytes > 0 && selection_.bytes() > options_.budget_bytes) {
    const int64_t least = selection_.least();
    if (least < 0) break;
    TAPML_TRY(drop(least));
  }
  return {};
}

SuiteCall& Carver::call_at(int64_t sequence) {
  return *std::ranges::lower_bound(suite_.calls, sequence, {}, &SuiteCall::sequence);
}

Status Carver::drop(int64_t sequence) {
  SuiteCall& call = call_at(sequence);
  if (!call.added) suite_.kernels[static_cast<size_t>(call.kernel)].dropped += call.times;
  sequence_of_.erase(test_key(call));
  suite_.calls.erase(suite_.calls.begin() + (&call - suite_.calls.data()));
  for (const std::string& hash : selection_.remove(sequence)) {
    suite_.weights.erase(hash);
    auto tensor = suite_.tensors.extract(hash);
    auto kept = kept_tensors_.find(hash);
    if (kept == kept_tensors_.end()) continue;
    bytes_ -= kept->second;
    kept_tensors_.erase(kept);
    if (lingers_) {
      lingering_.emplace(hash, tensor ? std::move(tensor.mapped()) : HostTensor());
    } else if (options_.folder) {
      TAPML_TRY(options_.folder->remove(hash));
    }
  }
  return {};
}

Status carve_added(runtime::VirtualMachine& vm, Carver& carver,
                   const std::function<Status()>& run) {
  TAPML_TRY(vm.set_capture(carver.begin_added(), &carver));
  Status ran = run();
  Status ended = vm.set_capture({}, nullptr);
  return ran ? std::move(ended) : std::move(ran);
}

Status carve_mixed_batch(llm::Engine& engine, Carver& carver) {
  return carve_added(engine.vm(), carver, [&] { return engine.run_mixed_batch(); });
}

}  // namespace tapml::topdown
