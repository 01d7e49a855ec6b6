#include "rpc/transport/confinement.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <tuple>
#include <vector>

#include "rpc/transport/descriptor.h"

namespace tapml::rpc {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kForeignCalls = 0x40000000;  // numbers from here on are of the x32 interface
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kForeignCalls = 0;  // there is no foreign interface
#else
#error "the number of the architecture in seccomp's data"
#endif

// Calls that reach another process's memory or threads, whatever their arguments.
constexpr std::array kNever = {SYS_ptrace,
                               SYS_process_vm_readv,
                               SYS_process_vm_writev,
                               SYS_pidfd_send_signal,
                               SYS_pidfd_getfd,
                               SYS_process_madvise,
                               SYS_tkill};
// Calls whose first argument must be this process (or 0, which means the same).
constexpr std::array kOnItself = {
    SYS_kill,      SYS_tgkill,        SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_prlimit64, SYS_migrate_pages, SYS_move_pages};

constexpr std::array kKeptCapabilities = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
                                          CAP_FOWNER, CAP_IPC_LOCK,     CAP_SYS_NICE};

constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA);

sock_filter statement(uint16_t code, uint32_t value) { return {code, 0, 0, value}; }

// Skips `then` statements if the comparison holds, otherwise `otherwise`.
sock_filter jump(uint16_t comparison, uint32_t value, uint8_t then, uint8_t otherwise) {
  return {static_cast<uint16_t>(BPF_JMP | comparison | BPF_K), then, otherwise, value};
}

sock_filter load(size_t offset) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

// Checks a system call's number and first argument. The upper half of a process number is 0 or, for
// a group, all ones, so the lower half alone identifies this process.
std::vector<sock_filter> filter_of(pid_t self) {
  const sock_filter refuse = statement(BPF_RET | BPF_K, kRefuse);
  const sock_filter allow = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  std::vector<sock_filter> filter = {load(offsetof(seccomp_data, arch)),
                                     jump(BPF_JEQ, kArchitecture, 1, 0), refuse,
                                     load(offsetof(seccomp_data, nr))};
  if (kForeignCalls != 0) {
    filter.push_back(jump(BPF_JGE, kForeignCalls, 0, 1));
    filter.push_back(refuse);
  }
  for (const long number : kNever) {
    filter.push_back(jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 1));
    filter.push_back(refuse);
  }
  for (const long number : kOnItself) {
    filter.push_back(jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 5));
    filter.push_back(load(offsetof(seccomp_data, args)));
    filter.push_back(jump(BPF_JEQ, static_cast<uint32_t>(self), 2, 0));
    filter.push_back(jump(BPF_JEQ, 0, 1, 0));
    filter.push_back(refuse);
    filter.push_back(allow);
  }
  filter.push_back(allow);
  return filter;
}

// In addition to no_new_privs, without which a program that the superuser starts regains them.
void drop_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return;
  uint32_t kept[_LINUX_CAPABILITY_U32S_3] = {};
  for (const int capability : kKeptCapabilities) {
    kept[CAP_TO_INDEX(capability)] |= CAP_TO_MASK(capability);
  }
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    sets[i].permitted &= kept[i];
    sets[i].effective &= kept[i];
    sets[i].inheritable &= kept[i];
  }
  std::ignore = ::syscall(SYS_capset, &header, sets);  // dropping is always allowed
}

}  // namespace

void close_memory() noexcept { ::prctl(PR_SET_DUMPABLE, 0); }

Status confine_process() noexcept {
  const auto refused = [](const char* what) -> Status {
    return fail(platform_error(
        PlatformFault::kAbsent,
        std::string("this system cannot isolate sessions: ") + what + ": " + errno_text(errno),
        "the server"));
  };
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("no_new_privs");
  drop_capabilities();
  std::vector<sock_filter> filter = filter_of(::getpid());
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  // Without the flag, kernels before 5.16 slow all code down, against attacks that read what this
  // process may read anyway.
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) !=
      0) {
    return refused("seccomp");
  }
  return {};
}

}  // namespace tapml::rpc
