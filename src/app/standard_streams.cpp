#include "app/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "ir/exceptions.h"

namespace tapml::app {

StandardStreams take_standard_streams() {
  StandardStreams streams;
  streams.in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  streams.out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (streams.in < 0 || streams.out < 0 || null < 0) {
    throw_user("standard input and output are not open", "the command line",
               "two pipes or a socket");
  }
  ::dup2(null, STDIN_FILENO);
  ::close(null);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return streams;
}

}  // namespace tapml::app
