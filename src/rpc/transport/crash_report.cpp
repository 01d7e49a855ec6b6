#include "rpc/transport/crash_report.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "io/host/mapped_ranges.h"
#include "rpc/transport/process_limits.h"

namespace tapml::rpc {

namespace {

constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr size_t kStackBytes = 64 << 10;

CrashReport* g_crash_report = nullptr;  // of this process, for its signal handler
const runtime::LaunchNote* g_launch_note = nullptr;
alignas(16) char g_crash_stack[kStackBytes];

void copy_text(char* to, size_t room, const char* from) {
  size_t i = 0;
  for (; i + 1 < room && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
}

uintptr_t instruction_of(void* context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<ucontext_t*>(context)->uc_mcontext.pc;
#else
  return 0;
#endif
}

// Whether a page fault was a write, if the processor reports it.
bool was_write(void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;
  return (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
#elif defined(__aarch64__)
  constexpr uint32_t kEsrMagic = 0x45535201;
  constexpr uint64_t kWriteNotRead = 1 << 6;
  const auto& records = static_cast<ucontext_t*>(context)->uc_mcontext.__reserved;
  for (size_t at = 0; at + 16 <= sizeof records;) {
    uint32_t head[2];
    uint64_t value = 0;
    std::memcpy(head, &records[at], sizeof head);
    std::memcpy(&value, &records[at + 8], sizeof value);
    if (head[0] == kEsrMagic) return (value & kWriteNotRead) != 0;
    if (head[0] == 0 || head[1] == 0) break;
    at += head[1];
  }
  return false;
#else
  return false;
#endif
}

void describe_launch(CrashReport& report, bool has_address, void* context) {
  if (g_launch_note == nullptr || !g_launch_note->running.load()) return;
  const runtime::LaunchNote& launch = *g_launch_note;
  copy_text(report.entry, sizeof report.entry, launch.entry);
  report.launching = true;
  if (!has_address) return;
  report.argument = launch.find(report.address);
  if (report.argument < 0) return;
  report.byte = static_cast<int64_t>(report.address - launch.argument[report.argument].begin);
  report.write = was_write(context);
}

void describe_frame(CrashReport::Frame& frame, uintptr_t address) {
  frame.address = address;
  Dl_info info = {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a register's contents
  if (::dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) return;
  const char* slash = std::strrchr(info.dli_fname, '/');
  copy_text(frame.object, sizeof frame.object, slash ? slash + 1 : info.dli_fname);
  const bool named = info.dli_sname != nullptr && info.dli_saddr != nullptr;
  if (named) copy_text(frame.symbol, sizeof frame.symbol, info.dli_sname);
  frame.offset = address - reinterpret_cast<uintptr_t>(named ? info.dli_saddr : info.dli_fbase);
}

// Writes the signal first, then as much as possible: looking up a symbol may hang if the crash was
// inside the loader; the alarm ends that.
void on_crash(int signal, siginfo_t* info, void* context) {
  if (mend_mapping(signal, *info)) return;  // a fault of a file, reported where the file is used
  CrashReport* report = g_crash_report;
  int none = 0;
  if (report != nullptr && report->signal.compare_exchange_strong(none, signal)) {
    ::alarm(2);
    const bool has_address = signal == SIGSEGV || signal == SIGBUS;
    if (has_address) report->address = reinterpret_cast<uintptr_t>(info->si_addr);
    report->data_bytes = process_data_bytes();
    describe_launch(*report, has_address, context);
    report->instruction.address = instruction_of(context);
    describe_frame(report->instruction, report->instruction.address);
    void* addresses[CrashReport::kFrames];
    const int count = ::backtrace(addresses, CrashReport::kFrames);
    for (int i = 0; i < count; ++i) {
      describe_frame(report->stack[i], reinterpret_cast<uintptr_t>(addresses[i]));
      report->frames.store(i + 1);
    }
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// The process that wrote it may have run any code: it may lack a terminator.
std::string printable_text(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}
template <size_t kRoom>
std::string written_text(const char (&text)[kRoom]) {
  return printable_text(std::string(text, ::strnlen(text, kRoom)));
}

void set_crash_handlers() {
  struct sigaction action = {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : kCrashSignals) ::sigaction(signal, &action, nullptr);
}

std::string frame_text(const CrashReport::Frame& frame) {
  char number[32];
  std::snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(frame.address));
  std::string text = number;
  std::snprintf(number, sizeof number, "+0x%llx", static_cast<unsigned long long>(frame.offset));
  const std::string object = written_text(frame.object), symbol = written_text(frame.symbol);
  if (object.empty()) return text + " (generated code)";
  if (symbol.empty()) return text + " " + object + number;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return text + " " + (name ? name.get() : symbol) + number + " in " + object;
}

}  // namespace

void install_crash_handler(CrashReport& report, const runtime::LaunchNote* launch) noexcept {
  g_crash_report = &report;
  g_launch_note = launch;
  // The first call loads the unwinder, which a signal handler must not do.
  void* warm[2];
  ::backtrace(warm, 2);
  stack_t stack = {};
  stack.ss_sp = g_crash_stack;
  stack.ss_size = sizeof g_crash_stack;
  ::sigaltstack(&stack, nullptr);
  set_crash_handlers();
}

void keep_crash_handler() noexcept {
  // A library that replaces one handler replaces all: compilers inside drivers do.
  struct sigaction current = {};
  ::sigaction(SIGABRT, nullptr, &current);
  if (current.sa_sigaction != on_crash) set_crash_handlers();
}

bool is_crash_signal(int signal) noexcept {
  return std::ranges::find(kCrashSignals, signal) != std::end(kCrashSignals);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string crash_text(const CrashReport& report) {
  const int signal = report.signal.load();
  std::string text = signal_name(signal);
  if (signal == SIGSEGV || signal == SIGBUS) {
    char address[32];
    std::snprintf(address, sizeof address, " at address 0x%llx",
                  static_cast<unsigned long long>(report.address));
    text += address;
  }
  if (report.launching) {
    const std::string entry = written_text(report.entry);
    text += ", ";
    text += report.argument < 0
                ? "in a launch of " + entry
                : runtime::out_of_bounds_text({report.write, report.byte, report.argument, entry});
  }
  text += "\n  at " + frame_text(report.instruction);
  // The frames of the handler, and the kernel's that called it, precede the crash.
  const int count = std::clamp(report.frames.load(), 0, CrashReport::kFrames);
  int first = 0;
  for (int i = 0; i < count; ++i) {
    if (report.stack[i].address == report.instruction.address) first = i + 1;
  }
  for (int i = first; i < count; ++i) text += "\n  by " + frame_text(report.stack[i]);
  return text;
}

}  // namespace tapml::rpc
