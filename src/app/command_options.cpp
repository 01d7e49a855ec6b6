#include "app/command_options.h"

namespace tapml::app {

topdown::CommandOptions command_options(const LibraryFiles& libraries, const RemoteOptions& remote,
                                        const IsolationOptions& isolation) {
  topdown::CommandOptions options;
  options.libraries = libraries.files;
  options.token_file = remote.token_file;
  options.tls_ca = remote.tls_ca;
  options.insecure = remote.insecure;
  options.in_process = isolation.in_process;
  if (isolation.kernel_seconds != IsolationOptions{}.kernel_seconds) {
    options.kernel_seconds = isolation.kernel_seconds;
  }
  return options;
}

}  // namespace tapml::app
