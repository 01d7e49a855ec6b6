#include "pipeline/kernel_cache.h"

#include "base/hash.h"
#include "base/host/build_id.h"
#include "exec/fields.h"

namespace tapml::pipeline {

namespace {

// Of what lies in an entry; the build id covers the rest of the program.
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
  if (target.description.code == target::CodeKind::kNative) {
    hash.update("\n" + codegen::native_identity(target.description));
  } else {
    hash.update("\n" + target::device_identity(target.description));
  }
  // The same code runs at every place with such a processor.
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
  reader(kernel.object.name);
  reader(kernel.object.entries);
  auto object = reader.raw(reader.integer(8));
  if (!reader.finish(key)) return {};
  kernel.object.bytes.assign(object.begin(), object.end());
  return kernel;
}

void KernelCache::keep(const std::string& key, const CachedKernel& kernel) {
  ByteWriter writer;
  writer(kernel.implementation);
  writer(kernel.object.name);
  writer(kernel.object.entries);
  writer.integer(kernel.object.bytes.size(), 8);
  writer.raw(kernel.object.bytes);
  disk_->put(key, writer.take());
}

}  // namespace tapml::pipeline
