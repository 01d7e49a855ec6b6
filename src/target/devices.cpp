// Figures are those that drivers report; if drivers differ, the smallest. Mesa's are in its
// src/*/vulkan/*physical_device.c (turnip: tu_device.cc, tu_common.h).
#include "target/devices.h"

#include "ir/exceptions.h"

namespace tapml::target {

namespace {

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;

struct Figures {
  int64_t threads, good_threads, subgroup, local_bytes, binding_bytes, bindings, alignment;
};

KnownDevice device(const char* name, const char* doc, const Figures& figures, bool f16, bool f64) {
  KnownDevice d;
  d.name = name;
  d.doc = doc;
  d.workgroup_threads = figures.good_threads;
  d.subgroup_width = figures.subgroup;
  d.limits.max_workgroup_threads = figures.threads;
  d.limits.max_local_memory = figures.local_bytes;
  d.limits.max_binding_bytes = figures.binding_bytes;
  d.limits.max_bindings = figures.bindings;
  d.limits.buffer_alignment = figures.alignment;
  d.f16 = f16;
  d.f64 = f64;
  return d;
}

KnownDevice on_processor(KnownDevice device) {
  device.cpu_like_subgroups = true;
  return device;
}

}  // namespace

const std::vector<KnownDevice>& known_devices() {
  // Limits: threads of a group, preferred threads, subgroup width; local memory; bytes of a
  // binding, bindings, alignment of a binding; f16 arithmetic that is known to round to nearest and
  // to keep subnormals, f64 arithmetic
  static const std::vector<KnownDevice> kDevices = {
      // Mesa's turnip: 2^27 bytes a binding, as in Qualcomm's driver; local memory by the chip;
      // threads up to 64 * 2 * its waves. Not looked up: Qualcomm's threads and subgroups.
      device("adreno-740", "Qualcomm, Snapdragon 8 Gen 2",
             {1024, 128, 64, 32 * kKiB, 128 * kMiB, 24, 64}, false, false),
      // Mesa's panvk: subgroups depend on the architecture, threads on the chip; 32 KiB. Bytes and
      // alignment of a binding are what Vulkan requires of every device.
      device("mali-g715", "Arm, Valhall", {512, 64, 16, 32 * kKiB, 128 * kMiB, 35, 256}, false,
             false),
      // Apple's Metal feature set tables: 1,024 threads, 32 KiB, 31 entries of the buffer argument
      // table. Bytes of a binding: not looked up (Metal bounds buffers, by the machine's memory).
      device("apple-a", "Apple, A14 to A17", {1024, 64, 32, 32 * kKiB, 256 * kMiB, 31, 256}, false,
             false),
      device("apple-m", "Apple, M1 to M4", {1024, 64, 32, 32 * kKiB, 1 * kGiB, 31, 256}, false,
             false),
      // Mesa's radv: 1,024 threads, subgroups of 64 unless a pipeline requests 32. Other drivers
      // may offer only half of its local memory (64 KiB).
      device("rdna3", "AMD, RX 7000", {1024, 64, 64, 32 * kKiB, 4 * kGiB - 1, 200, 64}, true, true),
      device("steam-deck", "AMD, Van Gogh", {1024, 64, 64, 32 * kKiB, 4 * kGiB - 1, 200, 64}, true,
             true),
      // Mesa's nvk: 1,024 threads, 48 KiB.
      device("rtx", "NVIDIA, Turing and later", {1024, 64, 32, 48 * kKiB, 4 * kGiB - 1, 200, 64},
             false, true),
      // The defaults of GPUSupportedLimits (the WebGPU specification, MDN).
      device("webgpu", "the limits that WebGPU promises",
             {256, 64, 1, 16 * kKiB, 128 * kMiB, 8, 256}, false, false),
      // Mesa's driver for processors with 256-bit vectors. It converts f16 in its own code.
      on_processor(device("lavapipe", "a processor, by Mesa's Vulkan",
                          {1024, 64, 8, 32 * kKiB, 128 * kMiB, 24, 64}, false, true)),
  };
  return kDevices;
}

void describe_device(Description& description, const std::string& name, const std::string& where) {
  std::string names;
  for (const KnownDevice& device : known_devices()) {
    if (device.name != name) {
      names += (names.empty() ? "" : ", ") + device.name;
      continue;
    }
    const int64_t threads = description.limits.threads;
    description.limits = device.limits;
    description.limits.threads = threads;
    description.workgroup_threads = device.workgroup_threads;
    description.subgroup_width = device.subgroup_width;
    description.cpu_like_groups = false;
    description.cpu_like_subgroups = device.cpu_like_subgroups && description.lanes_on_processors;
    Features& features = description.features;
    features.subgroups = device.subgroup_width > 1;
    if (device.f16) features.compute_dtypes.insert(DType::kF16);
    if (!device.f64) {
      features.compute_dtypes.erase(DType::kF64);
      features.storage_dtypes.erase(DType::kF64);
    }
    return;
  }
  throw_user("unknown device \"" + name + "\"", where, "one of " + names, name);
}

}  // namespace tapml::target
