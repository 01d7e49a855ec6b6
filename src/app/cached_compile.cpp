#include "app/cached_compile.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "app/executable.h"
#include "device/cpu/library/host_library.h"
#include "exec/fields.h"
#include "pipeline/kernel_cache.h"
#include "text/printer.h"

namespace tapml::pipeline {

template <class A>
void fields(A& a, OmittedFunction& x) {
  a(x.function);
  a(x.reason);
}

}  // namespace tapml::pipeline

namespace tapml::app {

namespace {

// Larger ones would evict most other entries.
constexpr size_t kLargestEntry = size_t{64} << 20;

// Covers what a kernel's key covers, and all that decides about libraries. The user's libraries are
// not covered: their files change.
std::optional<std::string> key_of(const Module& module, const target::Target& target,
                                  const library::LibraryOptions& libraries) {
  if (!libraries.libraries.empty()) return std::nullopt;
  std::string text = "executable-1\n";
  for (const std::string& name : device::built_in_libraries()) {
    if (libraries.is_installed && libraries.is_installed(name)) text += name + "\n";
  }
  text += "\n" + text::print(libraries.patterns) + "\n" + text::print(module);
  return pipeline::KernelCache::key(text, target);
}

std::optional<CompiledModule> find(DiskCache& disk, const std::string& key) {
  auto bytes = disk.get(key);
  if (!bytes) return std::nullopt;
  ByteReader reader(*bytes);
  CompiledModule found;
  reader(found.omitted_functions);
  const auto stored = reader.raw(reader.integer(8));
  if (!reader.finish(key)) return std::nullopt;
  // A copy, because constants are views that have to be aligned.
  auto image = std::make_shared<const std::vector<std::byte>>(stored.begin(), stored.end());
  auto file = read_executable(*image, image, key);
  if (!file) return std::nullopt;
  found.executable = std::make_shared<const Executable>(std::move(file->executable));
  found.fixed = std::move(file->module);
  found.from_cache = true;
  return found;
}

void keep(DiskCache& disk, const std::string& key, const CompiledModule& made,
          const target::Target& target) {
  auto image = write_executable(executable_file(*made.executable, target, made.fixed, {}));
  if (!image || image->size() > kLargestEntry) return;
  ByteWriter writer;
  writer(made.omitted_functions);
  writer.integer(image->size(), 8);
  writer.raw(*image);
  disk.put(key, writer.take());
}

}  // namespace

CompiledModule compile_with_cache(const Module& module, const target::Target& target,
                                  const pipeline::ImplementOptions& options, CompileCache& cache) {
  std::optional<std::string> key;
  if (cache.disk()) key = key_of(module, target, options.libraries);
  if (key) {
    if (auto found = find(*cache.disk(), *key)) return std::move(*found);
  }
  CompiledModule made;
  pipeline::ImplementOptions implement = options;
  implement.omitted_functions = &made.omitted_functions;
  const Module fixed = pipeline::form_kernels(module, implement.instruments);
  made.executable = pipeline::implement(fixed, target, implement);
  made.fixed = text::print(fixed);
  if (key) keep(*cache.disk(), *key, made, target);
  return made;
}

}  // namespace tapml::app
