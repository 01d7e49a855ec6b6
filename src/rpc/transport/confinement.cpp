#include "rpc/transport/confinement.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <tuple>

#include "io/host/system_call_filter.h"
#include "rpc/transport/descriptor.h"

namespace tapml::rpc {

namespace {

// Calls that reach another process's memory or threads, whatever their arguments.
constexpr std::array<long, 7> kNever = {SYS_ptrace,
                                        SYS_process_vm_readv,
                                        SYS_process_vm_writev,
                                        SYS_pidfd_send_signal,
                                        SYS_pidfd_getfd,
                                        SYS_process_madvise,
                                        SYS_tkill};
// Calls whose first argument must be this process (or 0, which means the same).
constexpr std::array<long, 7> kOnItself = {
    SYS_kill,      SYS_tgkill,        SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_prlimit64, SYS_migrate_pages, SYS_move_pages};

constexpr std::array kKeptCapabilities = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
                                          CAP_FOWNER, CAP_IPC_LOCK,     CAP_SYS_NICE};

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
  SystemCallFilter filter;
  filter.refuse(kNever);
  filter.only_on_itself(kOnItself);
  if (!filter.install()) return refused("seccomp");
  return {};
}

}  // namespace tapml::rpc
