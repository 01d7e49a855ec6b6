#include "io/host/system_call_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace tapml {

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

sock_filter statement(uint16_t code, uint32_t value) { return {code, 0, 0, value}; }

// Skips `then` statements if the comparison holds, otherwise `otherwise`.
sock_filter jump(uint16_t comparison, uint32_t value, uint8_t then, uint8_t otherwise) {
  return {static_cast<uint16_t>(BPF_JMP | comparison | BPF_K), then, otherwise, value};
}

sock_filter load(size_t offset) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

sock_filter failing(uint32_t error) {
  return statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA));
}

sock_filter allowed() { return statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW); }

}  // namespace

// Between the statements for calls the number of the call is loaded; those that load its first
// argument decide, and end the filter.
SystemCallFilter::SystemCallFilter() : statements_{allowed()} {
  add(load(offsetof(seccomp_data, arch)));
  add(jump(BPF_JEQ, kArchitecture, 1, 0));
  add(failing(EPERM));
  add(load(offsetof(seccomp_data, nr)));
  if (kForeignCalls != 0) {
    add(jump(BPF_JGE, kForeignCalls, 0, 1));
    add(failing(EPERM));
  }
}

void SystemCallFilter::add(sock_filter one) { statements_.insert(statements_.end() - 1, one); }

void SystemCallFilter::refuse(std::span<const long> numbers) {
  for (const long number : numbers) {
    add(jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 1));
    add(failing(EPERM));
  }
}

// The upper half of a process number is 0 or, for a group, all ones, so the lower half alone
// identifies this process.
void SystemCallFilter::only_on_itself(std::span<const long> numbers) {
  for (const long number : numbers) {
    add(jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 5));
    add(load(offsetof(seccomp_data, args)));
    own_numbers_.push_back(statements_.size() - 1);
    add(jump(BPF_JEQ, 0, 2, 0));
    add(jump(BPF_JEQ, 0, 1, 0));
    add(failing(EPERM));
    add(allowed());
  }
}

void SystemCallFilter::only_with(long number, uint32_t bits) {
  add(jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 5));
  add(load(offsetof(seccomp_data, args)));
  add(statement(BPF_ALU | BPF_AND | BPF_K, bits));
  add(jump(BPF_JEQ, bits, 1, 0));
  add(failing(EPERM));
  add(allowed());
}

void SystemCallFilter::hide(long number) {
  add(jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 1));
  add(failing(ENOSYS));
}

void SystemCallFilter::hide_after(long number) {
  add(jump(BPF_JGT, static_cast<uint32_t>(number), 0, 1));
  add(failing(ENOSYS));
}

bool SystemCallFilter::install() noexcept {
  const auto self = static_cast<uint32_t>(::getpid());
  for (const size_t one : own_numbers_) statements_[one].k = self;
  const sock_fprog program = {static_cast<unsigned short>(statements_.size()), statements_.data()};
  // Without the flag, kernels before 5.16 slow all code down, against attacks that read what this
  // process may read anyway.
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                   &program) == 0;
}

}  // namespace tapml
