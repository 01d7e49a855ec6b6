// The report of a crash: written by the signal handler of the process into memory that it shares
// with the process that watches it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/launch_note.h"

namespace tapml::rpc {

struct CrashReport {
  static constexpr int kFrames = 32;
  struct Frame {
    uintptr_t address = 0;
    uintptr_t offset = 0;  // into the symbol, or into the object if there is no symbol
    char object[64] = {};  // end of its file's name; empty: generated code
    char symbol[160] = {};
  };
  std::atomic<int> signal = 0;  // 0: no crash
  int64_t data_bytes = 0;       // data and private mappings of the process at the crash
  uintptr_t address = 0;        // address accessed, for SIGSEGV and SIGBUS
  Frame instruction;            // where the crash happened
  // The launch in progress: its entry, and the argument that contains the address (-1: none), with
  // the offset into it.
  bool launching = false, write = false;
  int argument = -1;
  int64_t byte = 0;
  char entry[160] = {};
  std::atomic<int> frames = 0;
  Frame stack[kFrames];
};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

// Makes a crash of this process fill `report`, which must stay mapped. Call it once per process.
// `launch`, if given, is updated by the watched device.
void install_crash_handler(CrashReport& report,
                           const runtime::LaunchNote* launch = nullptr) noexcept;
// Installs the handler again, after a library has replaced it.
void keep_crash_handler() noexcept;

bool is_crash_signal(int signal) noexcept;

// "SIGSEGV"
std::string signal_name(int signal);
// "SIGSEGV at address 0x10, a write to byte 4 of argument 0 of scale", and a line for each frame.
std::string crash_text(const CrashReport& report);

}  // namespace tapml::rpc
