#include "topdown/suite/coverage.h"

#include <algorithm>
#include <set>

namespace tapml::topdown {

namespace {

// Indices of `functions` and of the functions that they reach.
std::vector<size_t> reached_functions(const Executable& executable,
                                      const std::vector<std::string>& functions) {
  std::vector<bool> seen(executable.functions.size(), false);
  std::vector<size_t> reached;
  auto reach = [&](size_t function) {
    if (function >= seen.size() || seen[function]) return;
    seen[function] = true;
    reached.push_back(function);
  };
  for (const std::string& name : functions) {
    const VmFunction* function = executable.find_function(name);
    if (function) reach(static_cast<size_t>(function - executable.functions.data()));
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const Instruction& instruction : executable.functions[reached[i]].code) {
      // A closure may be called wherever it is passed, so it counts where it is made.
      if (instruction.op == Opcode::kCallFunction || instruction.op == Opcode::kMakeClosure) {
        reach(static_cast<size_t>(instruction.b));
      }
    }
  }
  return reached;
}

}  // namespace

std::vector<std::string> generation_functions(const Executable& executable, double temperature,
                                              const DeviceInfo& device, bool has_images) {
  // An encoder has one function.
  if (!executable.find_function("prefill") && executable.find_function("embed")) return {"embed"};
  std::vector<std::string> functions = {"prefill", "decode"};
  if (executable.find_function("encode")) functions.emplace_back("encode");
  if (has_images) functions.emplace_back("embed_image");
  if (temperature == 0) {
    functions.emplace_back("sample");
  } else if (executable.find_function("draw") &&
             device.features.compute_dtypes.contains(DType::kF64)) {
    functions.emplace_back("draw");
  }
  return functions;
}

std::vector<KernelUse> called_kernels(const Executable& executable,
                                      const std::vector<std::string>& functions) {
  std::map<int32_t, Origin> layers;
  for (const size_t function : reached_functions(executable, functions)) {
    for (const Instruction& instruction : executable.functions[function].code) {
      if (instruction.op != Opcode::kCallKernel) continue;
      const CallSiteInfo& site = executable.call_sites.at(static_cast<size_t>(instruction.a));
      Origin& origin = layers[site.kernel];
      origin = merge_origins(origin, site.origin);
    }
  }
  std::vector<KernelUse> kernels;
  for (auto& [kernel, origin] : layers) {
    kernels.push_back({executable.kernels[static_cast<size_t>(kernel)].name, std::move(origin)});
  }
  return kernels;
}

std::vector<KernelUse> untested_kernels(const std::vector<KernelUse>& kernels, const Suite& suite) {
  std::set<std::string> tested;
  for (const SuiteCall& call : suite.calls) {
    tested.insert(suite.kernels[static_cast<size_t>(call.kernel)].name);
  }
  for (const SuiteGroup& group : suite.groups) {
    for (const std::string& kernel : suite.kernels_of(group)) tested.insert(kernel);
  }
  std::vector<KernelUse> untested;
  std::ranges::copy_if(kernels, std::back_inserter(untested),
                       [&](const KernelUse& kernel) { return !tested.contains(kernel.kernel); });
  return untested;
}

std::vector<KernelUse> untested_kernels(const Suite& suite) {
  std::vector<KernelUse> own;
  for (const SuiteKernel& kernel : suite.kernels) own.push_back({kernel.name, {}});
  std::vector<KernelUse> untested = suite.untested;
  for (KernelUse& use : untested_kernels(own, suite)) {
    if (std::ranges::find(untested, use.kernel, &KernelUse::kernel) == untested.end()) {
      untested.push_back(std::move(use));
    }
  }
  return untested;
}

std::string untested_text(const std::vector<KernelUse>& untested, size_t most) {
  if (untested.empty()) return "";
  std::string text = std::to_string(untested.size()) +
                     (untested.size() == 1 ? " kernel is untested: " : " kernels are untested: ");
  for (size_t i = 0; i < std::min(most, untested.size()); ++i) {
    if (i > 0) text += ", ";
    text += untested[i].kernel;
    if (!untested[i].origin.layers.empty()) text += " (" + layers_summary(untested[i].origin) + ")";
  }
  if (untested.size() > most) text += " and " + std::to_string(untested.size() - most) + " more";
  return text;
}

std::vector<std::string> names_of(const std::vector<KernelUse>& kernels) {
  std::vector<std::string> names;
  for (const KernelUse& kernel : kernels) names.push_back(kernel.kernel);
  return names;
}

}  // namespace tapml::topdown
