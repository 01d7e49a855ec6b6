#include "exec/code_digest.h"

#include "base/hash.h"
#include "exec/fields.h"

namespace tapml {

std::string code_digest(const Executable& executable, const Implementation& implementation) {
  const ModuleBlob& module = executable.modules[static_cast<size_t>(implementation.module)];
  Implementation alone = implementation;
  alone.kernel = alone.module = 0;
  ByteWriter writer;
  writer(module.platform);
  writer(module.format);
  writer(module.cpu);
  writer(module.features);
  writer(alone);
  Sha256 hash;
  hash.update(writer.take());
  hash.update(module.bytes);
  return to_hex(hash.digest()).substr(0, 32);
}

}  // namespace tapml
