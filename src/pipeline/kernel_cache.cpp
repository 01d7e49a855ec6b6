#include "pipeline/kernel_cache.h"

#include "base/hash.h"
#include "base/host/build_id.h"
#include "codegen/code_generators.h"
#include "exec/fields.h"

namespace tapml::pipeline {

namespace {

// Version of an entry's format; the build id covers the rest of the program.
constexpr const char* kEntryVersion = "kernel-1";

}  // namespace

const std::string& compiler_identity() {
  static const std::string kIdentity = "tapml 0.1.0 " + build_id();
  return kIdentity;
}

std::string KernelCache::key(const std::string& kernel_text, const target::Target& target) {
  static const std::string kProgram = std::string(kEntryVersion) + "\n" + compiler_identity();
  Sha256 hash;
  hash.update(kProgram);
  const std::string made_by = codegen::generator_of(target).identity(target.description);
  hash.update("\n" + (made_by.empty() ? target::device_identity(target.description) : made_by));
  // The code runs on every endpoint with such a processor.
  hash.update("\n" + target.text.substr(0, target.text.find('@')) + "\n");
  hash.update(kernel_text);
  return to_hex(hash.digest());
}

std::optional<CachedKernel> KernelCache::find(const std::string& key) {
  auto bytes = disk_->get(key);
  if (!bytes) return {};
  CachedKernel kernel;
  ByteReader reader(*bytes);
  reader(kernel.implementation);
  reader(kernel.code.name);
  reader(kernel.code.entries);
  auto object = reader.raw(reader.integer(8));
  if (!reader.finish(key)) return {};
  kernel.code.bytes.assign(object.begin(), object.end());
  return kernel;
}

void KernelCache::keep(const std::string& key, const CachedKernel& kernel) {
  ByteWriter writer;
  writer(kernel.implementation);
  writer(kernel.code.name);
  writer(kernel.code.entries);
  writer.integer(kernel.code.bytes.size(), 8);
  writer.raw(kernel.code.bytes);
  disk_->put(key, writer.take());
}

}  // namespace tapml::pipeline
