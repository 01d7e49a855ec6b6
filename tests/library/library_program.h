// Programs whose kernels library routines implement, compared with the reference in f64.
#pragma once

#include <gtest/gtest.h>

#include "base/rng.h"
#include "device/cpu/library/host_library.h"
#include "exec/library_code.h"
#include "support/generated_program.h"
#include "text/parser.h"

namespace tapml::testing {

inline std::string library_file(const std::string& name) {
  return std::string(TAPML_LIBRARY_FOLDER) + "/" + name + ".so";
}

inline HostTensor random_tensor(DType dtype, const Shape& shape, uint64_t seed) {
  HostTensor tensor = HostTensor::zeros(dtype, shape);
  RandomStream rng(seed, "library");
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, static_cast<double>(rng.between(-1000, 1000)) / 500);
  }
  return tensor;
}

inline std::unique_ptr<runtime::LocalSession> cpu_session(
    const device::HostLibraries& libraries = {}, int threads = 2) {
  return unwrap(runtime::LocalSession::create(
      std::make_shared<device::CpuDevice>(threads, codegen::make_jit_loader(), libraries)));
}

// Provider of the kernel whose name begins with `name`; empty if there is none.
inline std::string provider_of(const Executable& executable, const std::string& name) {
  for (size_t k = 0; k < executable.kernels.size(); ++k) {
    if (!executable.kernels[k].name.starts_with(name)) continue;
    const auto* implementation = executable.find_implementation(static_cast<int32_t>(k));
    return implementation ? implementation->provider : "";
  }
  return "";
}

inline std::shared_ptr<const Executable> compile_text(const std::string& text,
                                                      const std::string& target,
                                                      library::LibraryOptions libraries = {}) {
  pipeline::ImplementOptions options;
  options.instruments.verify = true;
  options.libraries = std::move(libraries);
  return pipeline::compile(text::parse(text, "program"), target::parse_target(target), options);
}

// Runs main of `text` on these tensors and compares it with the reference.
inline void expect_matches_reference(runtime::Session& session,
                                     std::shared_ptr<const Executable> executable,
                                     const std::string& text,
                                     const std::vector<HostTensor>& arguments) {
  expect_matches_reference(session, std::move(executable), text::parse(text, "program"),
                           {{"main", "library", arguments}});
}

}  // namespace tapml::testing
