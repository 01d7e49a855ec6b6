#include "codegen/source/spirv.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <shaderc/shaderc.hpp>
#include <thread>

#include "base/host/thread_pool.h"
#include "codegen/source/emitter.h"
#include "codegen/source/spirv_words.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

void append_u32(std::vector<std::byte>& bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<std::byte>((value >> shift) & 0xff));
  }
}

// One shader and its result.
struct ShaderJob {
  std::string source, name;
  std::vector<uint32_t> words;
  std::exception_ptr failure;
};

void run_jobs(std::vector<ShaderJob>& jobs, int threads, const WorkWatcher& watcher) {
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> done = 0;
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      try {
        jobs[i].words = compile_glsl_to_spirv(jobs[i].source, jobs[i].name);
      } catch (...) {
        jobs[i].failure = std::current_exception();
      }
      tell(watcher, {"compile", ++done, std::ssize(jobs), "shaders"});
    }
  };
  if (threads <= 0) threads = ThreadPool::available_cores();
  std::vector<std::jthread> workers;
  for (int i = 1; i < std::min<int>(threads, static_cast<int>(jobs.size())); ++i) {
    workers.emplace_back(work);
  }
  work();
}

}  // namespace

std::string emit_glsl(const DeviceFunc& function, const target::Description& target,
                      Readers readers) {
  try {
    return emit_source({function}, *glsl_dialect(target), readers);
  } catch (const CompilerException& exception) {
    Error error = exception.error();
    if (error.where.empty()) error.where = "kernel " + function.entry;
    throw_error(std::move(error));
  }
}

std::vector<uint32_t> try_compile_glsl(const std::string& source, const std::string& name,
                                       const std::map<std::string, std::string>& macros,
                                       std::string& log) {
  // Cached, because construction loads all of the language's built-ins.
  static const shaderc::Compiler kCompiler;
  shaderc::CompileOptions options;
  options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_1);
  // shaderc's optimizer would simplify floats before the decorations are added.
  options.SetOptimizationLevel(shaderc_optimization_level_zero);
  for (const auto& [macro, value] : macros) options.AddMacroDefinition(macro, value);
  auto result = kCompiler.CompileGlslToSpv(source, shaderc_compute_shader, name.c_str(), options);
  if (result.GetCompilationStatus() != shaderc_compilation_status_success) {
    log = result.GetErrorMessage();
    return {};
  }
  return with_promises({result.cbegin(), result.cend()});
}

std::vector<uint32_t> compile_glsl_to_spirv(const std::string& source, const std::string& name) {
  std::string log;
  std::vector<uint32_t> words = try_compile_glsl(source, name, {}, log);
  if (words.empty()) throw_internal("generated GLSL does not compile:\n" + log + source, name);
  return words;
}

std::vector<std::byte> spirv_part(size_t buffers, size_t scalars,
                                  const std::vector<uint32_t>& words) {
  std::vector<std::byte> bytes;
  bytes.reserve(4 * (words.size() + 3));
  append_u32(bytes, static_cast<uint32_t>(words.size()));
  append_u32(bytes, static_cast<uint32_t>(buffers));
  append_u32(bytes, static_cast<uint32_t>(4 * (scalars + 1)));
  for (uint32_t word : words) append_u32(bytes, word);
  return bytes;
}

std::vector<std::vector<std::byte>> compile_shaders(const std::vector<DeviceFunc>& functions,
                                                    const target::Description& target, int threads,
                                                    const WorkWatcher& watcher) {
  std::map<std::string, size_t> known;  // by source
  std::vector<ShaderJob> jobs;
  std::vector<size_t> job_of;
  for (const DeviceFunc& function : functions) {
    std::string source = emit_glsl(function, target);
    auto [job, fresh] = known.emplace(source, jobs.size());
    if (fresh) jobs.push_back({std::move(source), function.entry, {}, nullptr});
    job_of.push_back(job->second);
  }
  run_jobs(jobs, threads, watcher);
  std::vector<std::vector<std::byte>> parts;
  for (size_t i = 0; i < functions.size(); ++i) {
    const ShaderJob& job = jobs[job_of[i]];
    if (job.failure) std::rethrow_exception(job.failure);
    parts.push_back(
        spirv_part(functions[i].buffers.size(), functions[i].scalars.size(), job.words));
  }
  return parts;
}

}  // namespace tapml::codegen
