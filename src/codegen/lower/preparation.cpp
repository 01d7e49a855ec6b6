#include "codegen/lower/preparation.h"

#include <cstdio>
#include <map>
#include <set>

#include "text/structural.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kMostGrowth = 2;

// Size in bytes of a buffer of constant shape; otherwise -1.
int64_t constant_bytes(const Buffer& buffer) {
  int64_t bytes = static_cast<int64_t>(dtype_bytes(buffer->dtype));
  for (const PrimExpr& dim : buffer->shape) {
    if (!dim.is_int() || __builtin_mul_overflow(bytes, dim->int_value, &bytes)) return -1;
  }
  return bytes;
}

// Indices of the implementation's tensors that a launch stores to and loads from.
struct Accesses {
  std::set<size_t> stored, loaded;
};

Accesses accesses_of(const DeviceFunc& launch) {
  const auto stored = stored_buffers(launch.body), loaded = loaded_buffers(launch.body);
  Accesses found;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const auto index = static_cast<size_t>(launch.buffer_indices[i]);
    if (stored.contains(launch.buffers[i].buffer.get())) found.stored.insert(index);
    if (loaded.contains(launch.buffers[i].buffer.get())) found.loaded.insert(index);
  }
  return found;
}

std::string digest_of(const LoweredKernel& lowered, const Preparation& preparation,
                      const std::map<size_t, Param>& sources) {
  std::vector<Param> tensors;
  for (const auto& [index, param] : sources) tensors.push_back(param);
  for (size_t w = 0; w < lowered.workspaces.size(); ++w) {
    if (preparation.workspaces[w]) tensors.push_back({lowered.workspaces[w], AccessMode::kOut});
  }
  std::vector<Stmt> nests;
  for (size_t l = 0; l < lowered.launches.size(); ++l) {
    const DeviceFunc& launch = lowered.launches[l];
    if (!preparation.launches[l]) continue;
    nests.push_back(make_for(launch.item, launch.extent, launch.body, ForKind::kParallel));
  }
  PrimFunc program;
  program.params = std::move(tensors);
  program.body = make_seq(std::move(nests));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(text::structural_hash(program)));
  return text;
}

}  // namespace

Preparation find_preparation(const LoweredKernel& lowered, size_t params,
                             const std::vector<int64_t>& weights) {
  Preparation none;
  none.workspaces.assign(lowered.workspaces.size(), false);
  none.launches.assign(lowered.launches.size(), false);
  if (weights.empty() || lowered.workspaces.empty()) return none;
  Preparation found = none;
  std::vector<Accesses> accesses;
  for (const DeviceFunc& launch : lowered.launches) accesses.push_back(accesses_of(launch));
  for (size_t w = 0; w < lowered.workspaces.size(); ++w) {
    found.workspaces[w] = constant_bytes(lowered.workspaces[w]) >= 0;
  }
  auto is_prepared = [&](size_t index) {
    return index >= params && found.workspaces[index - params];
  };
  auto is_known = [&](size_t index) {
    for (int64_t weight : weights) {
      if (index < params && static_cast<int64_t>(index) == weight) return true;
    }
    return is_prepared(index);
  };
  // A launch that cannot be prepared disqualifies the workspaces that it writes; repeat to a fixed
  // point.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t l = 0; l < lowered.launches.size(); ++l) {
      const DeviceFunc& launch = lowered.launches[l];
      bool prepares = launch.scalars.empty() && launch.extent.is_int() && launch.limits.empty();
      for (size_t index : accesses[l].stored) prepares &= is_prepared(index);
      for (size_t index : accesses[l].loaded) prepares &= is_known(index);
      found.launches[l] = prepares && !accesses[l].stored.empty();
      if (prepares) continue;
      for (size_t index : accesses[l].stored) {
        if (!is_prepared(index)) continue;
        found.workspaces[index - params] = false;
        changed = true;
      }
    }
  }
  std::map<size_t, Param> sources;
  std::set<size_t> written;
  for (size_t l = 0; l < lowered.launches.size(); ++l) {
    const DeviceFunc& launch = lowered.launches[l];
    if (!found.launches[l]) continue;
    written.insert(accesses[l].stored.begin(), accesses[l].stored.end());
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      const auto index = static_cast<size_t>(launch.buffer_indices[i]);
      if (index < params) sources.emplace(index, launch.buffers[i]);
    }
  }
  int64_t bytes = 0, source_bytes = 0;
  for (size_t w = 0; w < lowered.workspaces.size(); ++w) {
    if (!written.contains(params + w)) found.workspaces[w] = false;
    if (found.workspaces[w]) bytes += constant_bytes(lowered.workspaces[w]);
  }
  for (const auto& [index, param] : sources) {
    const int64_t size = constant_bytes(param.buffer);
    if (size < 0) return none;
    source_bytes += size;
  }
  if (bytes == 0 || bytes / kMostGrowth > source_bytes) return none;
  found.digest = digest_of(lowered, found, sources);
  return found;
}

}  // namespace tapml::codegen
