#include "base/host/build_id.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cstring>
#include <span>

#include "base/hash.h"

namespace tapml {

namespace {

// The build id in a segment of notes: pairs of name and description, each padded to four bytes.
std::string find_build_id(const char* notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes, sizeof head);
    size_t name = (head.n_namesz + 3u) & ~size_t{3}, body = (head.n_descsz + 3u) & ~size_t{3};
    size_t whole = sizeof head + name + body;
    if (whole > size) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
        std::memcmp(notes + sizeof head, "GNU", 4) == 0) {
      const char* id = notes + sizeof head + name;
      return to_hex(std::span(reinterpret_cast<const uint8_t*>(id), head.n_descsz));
    }
    notes += whole;
    size -= whole;
  }
  return "";
}

std::string file_id(const char* path) {
  struct stat info = {};
  if (::stat(path, &info) != 0) return "unknown";
  return "file-" + std::to_string(info.st_size) + "-" + std::to_string(info.st_ino) + "-" +
         std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
}

// Called for each object of the process until it returns nonzero: the object with our code.
int visit_object(dl_phdr_info* info, size_t, void* result) {
  auto own_address = reinterpret_cast<ElfW(Addr)>(&find_build_id);
  bool ours = false;
  std::string id;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    ElfW(Addr) start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD)
      ours |= own_address >= start && own_address < start + segment.p_memsz;
    if (segment.p_type == PT_NOTE && id.empty()) {
      id = find_build_id(reinterpret_cast<const char*>(start), segment.p_memsz);
    }
  }
  if (!ours) return 0;
  bool program = !info->dlpi_name || info->dlpi_name[0] == '\0';
  *static_cast<std::string*>(result) =
      id.empty() ? file_id(program ? "/proc/self/exe" : info->dlpi_name) : id;
  return 1;
}

}  // namespace

const std::string& build_id() {
  static const std::string kId = [] {
    std::string id;
    dl_iterate_phdr(visit_object, &id);
    return id;
  }();
  return kId;
}

}  // namespace tapml
