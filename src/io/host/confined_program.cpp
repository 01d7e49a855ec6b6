#include "io/host/confined_program.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>

#include "io/host/child_output.h"
#include "io/host/descriptor.h"
#include "io/host/files.h"
#include "io/host/scratch_folder.h"
#include "io/host/system_call_filter.h"

namespace tapml {

namespace {

constexpr size_t kMostOutput = size_t{64} << 10;
constexpr rlim_t kMostDescriptors = 256;
// Users of programs under the superuser: numbers that systems give to nobody.
constexpr uid_t kFirstUser = 1'800'000'000, kUsers = 1'000'000;

// What a program may not call.
constexpr long kProcesses[] = {SYS_ptrace,
                               SYS_process_vm_readv,
                               SYS_process_vm_writev,
                               SYS_process_madvise,
                               SYS_pidfd_open,
                               SYS_pidfd_send_signal,
                               SYS_pidfd_getfd,
                               SYS_tkill,
                               SYS_setsid,
                               SYS_setpgid,
                               SYS_shmget,
                               SYS_msgget,
                               SYS_semget,
                               SYS_mq_open};
constexpr long kConnections[] = {SYS_socket, SYS_socketpair, SYS_io_uring_setup};
constexpr long kSystem[] = {SYS_unshare,
                            SYS_setns,
                            SYS_mount,
                            SYS_umount2,
                            SYS_pivot_root,
                            SYS_chroot,
                            SYS_move_mount,
                            SYS_fsopen,
                            SYS_open_tree,
                            SYS_init_module,
                            SYS_finit_module,
                            SYS_delete_module,
                            SYS_kexec_load,
                            SYS_reboot,
                            SYS_swapon,
                            SYS_swapoff,
                            SYS_bpf,
                            SYS_perf_event_open,
                            SYS_add_key,
                            SYS_request_key,
                            SYS_keyctl,
                            SYS_userfaultfd,
                            SYS_open_by_handle_at,
                            SYS_settimeofday,
                            SYS_clock_settime,
                            SYS_sethostname,
                            SYS_setdomainname,
                            SYS_syslog,
                            SYS_acct,
                            SYS_quotactl};
// Of files, which Landlock does not protect.
constexpr long kAttributes[] = {SYS_fchmod,       SYS_fchmodat,     SYS_fchown,    SYS_fchownat,
                                SYS_setxattr,     SYS_lsetxattr,    SYS_fsetxattr, SYS_removexattr,
                                SYS_lremovexattr, SYS_fremovexattr, SYS_utimensat};
#ifdef SYS_fork
constexpr long kOlder[] = {SYS_fork,   SYS_vfork, SYS_chmod,  SYS_chown,
                           SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat};
#else
constexpr std::array<long, 0> kOlder = {};
#endif
// set_mempolicy_home_node: what later calls do is not in the lists above.
constexpr long kLastKnownCall = 450;
constexpr long kOnItself[] = {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
                              SYS_prlimit64};

SystemCallFilter filter_for_programs() {
  SystemCallFilter filter;
  for (const std::span<const long> calls :
       {std::span<const long>(kProcesses), std::span<const long>(kConnections),
        std::span<const long>(kSystem), std::span<const long>(kAttributes),
        std::span<const long>(kOlder)}) {
    filter.refuse(calls);
  }
  filter.only_on_itself(kOnItself);
  filter.only_with(SYS_clone, CLONE_THREAD);
  filter.hide_after(kLastKnownCall);
  filter.hide(SYS_clone3);  // its flags are in memory, where a filter cannot see them
  return filter;
}

// What Landlock's first version keeps a process from doing outside of folders that it is given;
// later versions add rights by one bit each.
constexpr uint64_t kWriting = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                              LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                              LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                              LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                              LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr uint64_t kRefer = uint64_t{1} << 13, kTruncate = uint64_t{1} << 14;

bool allow_writing(int rules, const char* path, uint64_t rights) {
  const Descriptor place(::open(path, O_PATH | O_CLOEXEC));
  landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = place.get()};
  return place.get() >= 0 &&
         ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

// Rules that allow writing only into `folder`; -1 if the system has no Landlock.
int rules_for(const std::string& folder) {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return -1;
  const uint64_t rights = kWriting | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
  const landlock_ruleset_attr attributes = {.handled_access_fs = rights};
  const auto rules =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (rules < 0) return -1;
  const uint64_t of_a_file = rights & (LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate);
  if (allow_writing(rules, folder.c_str(), rights) &&
      allow_writing(rules, "/dev/null", of_a_file)) {
    return rules;
  }
  ::close(rules);
  return -1;
}

// What the child needs, made before the fork: the child of a program with threads may only call
// async-signal-safe functions.
struct Preparation {
  std::vector<char*> arguments, environment;
  const char* folder = nullptr;
  uid_t user = 0;  // 0: the parent's
  int rules = -1;
  int input = -1, output = -1;
  int report = -1;  // where a failure before the program runs goes
  SystemCallFilter filter = filter_for_programs();
  ProgramLimits limits;
};

// A step of the child that failed.
struct Failure {
  int error = 0;
  char step[28] = {};
};

bool limit_resource(decltype(RLIMIT_CPU) resource, rlim_t value) {
  const rlimit limit = {value, value};
  return ::setrlimit(resource, &limit) == 0;
}

// The name of the step that failed; errno is set.
const char* become_program(Preparation& prepared) {
  ::setsid();
  if (::dup2(prepared.input, STDIN_FILENO) < 0 || ::dup2(prepared.output, STDOUT_FILENO) < 0 ||
      ::dup2(prepared.output, STDERR_FILENO) < 0) {
    return "standard streams";
  }
  if (::chdir(prepared.folder) != 0) return "its folder";
  const auto seconds = static_cast<rlim_t>(prepared.limits.time.count() / 1000 + 1);
  if (!limit_resource(RLIMIT_CORE, 0) || !limit_resource(RLIMIT_CPU, seconds) ||
      !limit_resource(RLIMIT_FSIZE, static_cast<rlim_t>(prepared.limits.file_size)) ||
      !limit_resource(RLIMIT_NOFILE, kMostDescriptors)) {
    return "resource limits";
  }
  // By system calls, because the functions would tell the threads of the parent.
  if (prepared.user != 0) {
    if (::syscall(SYS_setgroups, 0, nullptr) != 0 ||
        ::syscall(SYS_setresgid, prepared.user, prepared.user, prepared.user) != 0 ||
        ::syscall(SYS_setresuid, prepared.user, prepared.user, prepared.user) != 0) {
      return "a user of its own";
    }
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
  // The superuser's, if it stays that.
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none_of_them[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none_of_them) != 0) return "capabilities";
  if (prepared.rules >= 0 && ::syscall(SYS_landlock_restrict_self, prepared.rules, 0) != 0) {
    return "Landlock";
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::syscall(SYS_close_range, 3U, ~0U, 4U);  // 4: close on exec
  if (!prepared.filter.install()) return "seccomp";
  // Last: from here on this process, as large as its parent, could not map memory.
  if (!limit_resource(RLIMIT_AS, static_cast<rlim_t>(prepared.limits.memory))) {
    return "resource limits";
  }
  ::execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  return nullptr;  // the program
}

[[noreturn]] void run_child(Preparation& prepared) {
  const char* step = become_program(prepared);
  Failure failure = {.error = errno};
  if (step) ::strncpy(failure.step, step, sizeof failure.step - 1);
  if (::write(prepared.report, &failure, sizeof failure) < 0) ::_exit(126);
  ::_exit(127);
}

Error cannot_confine(const std::string& what, int error) {
  return platform_error(PlatformFault::kAbsent,
                        "this system cannot confine programs: " + what +
                            (error == 0 ? "" : std::string(": ") + std::strerror(error)),
                        "running a program", "use Linux 5.13 or later");
}

Result<std::pair<int, int>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == 0) return std::pair(ends[0], ends[1]);
  return fail(
      platform_error(PlatformFault::kLimit, std::string("no pipe: ") + std::strerror(errno)));
}

// `denied`: whether the user may not run the program.
Result<ProgramEnd> run_as(bool own_user, const ConfinedProgram& program,
                          const ProgramLimits& limits, const std::function<bool()>& cancelled,
                          bool& denied) {
  TAPML_ASSIGN(const ScratchFolder folder, ScratchFolder::create("program"));
  for (const auto& [name, content] : program.files) {
    TAPML_TRY(write_text_atomic(folder.file(name), content));
  }
  Preparation prepared;
  prepared.limits = limits;
  prepared.folder = folder.path().c_str();
  if (own_user) {
    const uid_t user = kFirstUser + static_cast<uid_t>(::getpid()) % kUsers;
    bool given = ::chown(prepared.folder, user, user) == 0;
    for (const auto& [name, content] : program.files) {
      given = given && ::chown(folder.file(name).c_str(), user, user) == 0;
    }
    if (given) prepared.user = user;
  }
  const Descriptor rules(rules_for(folder.path()));
  prepared.rules = rules.get();
  // A user of its own cannot write what belongs to others.
  if (rules.get() < 0 && prepared.user == 0) return fail(cannot_confine("it has no Landlock", 0));

  std::vector<std::string> words = program.arguments;
  for (std::string& word : words) prepared.arguments.push_back(word.data());
  prepared.arguments.push_back(nullptr);
  std::vector<std::string> variables = {"PATH=/usr/bin:/bin", "HOME=" + folder.path(),
                                        "TMPDIR=" + folder.path(), "LC_ALL=C.UTF-8",
                                        "OMP_NUM_THREADS=1"};
  for (std::string& one : variables) prepared.environment.push_back(one.data());
  prepared.environment.push_back(nullptr);

  TAPML_ASSIGN(const auto output, make_pipe());
  const Descriptor output_end(output.first);
  Descriptor child_output(output.second);
  TAPML_ASSIGN(const auto report, make_pipe());
  const Descriptor report_end(report.first);
  Descriptor child_report(report.second);
  const Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (input.get() < 0) return fail(cannot_confine("/dev/null", errno));
  prepared.input = input.get();
  prepared.output = child_output.get();
  prepared.report = child_report.get();
  const pid_t child = ::fork();
  if (child == 0) run_child(prepared);
  if (child < 0) {
    return fail(platform_error(PlatformFault::kLimit,
                               std::string("cannot make a process: ") + std::strerror(errno)));
  }
  child_output.close();
  child_report.close();
  Failure failure;
  if (::read(report_end.get(), &failure, sizeof failure) == ssize_t{sizeof failure}) {
    ::waitpid(child, nullptr, 0);
    if (failure.step[0] != '\0') return fail(cannot_confine(failure.step, failure.error));
    denied = failure.error == EACCES;
    return fail(platform_error(
        PlatformFault::kAbsent,
        "cannot start \"" + program.arguments[0] + "\": " + std::strerror(failure.error),
        program.arguments[0]));
  }
  ChildEnd end = wait_for_child(child, output_end.get(), limits.time, cancelled, kMostOutput);
  if (end.reason == ChildEnd::Reason::kCancelled) {
    return fail(platform_error(PlatformFault::kCancelled, "interrupted"));
  }
  return ProgramEnd{end.exit_code, end.reason == ChildEnd::Reason::kTimeout, std::move(end.output)};
}

}  // namespace

Result<ProgramEnd> run_confined(const ConfinedProgram& program, const ProgramLimits& limits,
                                const std::function<bool()>& cancelled) {
  bool denied = false;
  if (::geteuid() == 0) {
    auto end = run_as(true, program, limits, cancelled, denied);
    if (end || !denied) return end;
  }
  // The program is in a folder that only its owner may enter.
  return run_as(false, program, limits, cancelled, denied);
}

}  // namespace tapml
