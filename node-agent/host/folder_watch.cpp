#include "node-agent/host/folder_watch.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>

namespace assay::agent {

folder_watch::folder_watch(const std::filesystem::path& folder)
  : events_{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)} {
  // Without a watch the descriptor stays silent, which is what is promised.
  ::inotify_add_watch(events_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE);
}

folder_watch::~folder_watch() {
  if (events_ >= 0)
    ::close(events_);
}

void folder_watch::wait(std::chrono::milliseconds patience) {
  pollfd changed{events_, POLLIN, 0};
  ::poll(&changed, 1, static_cast<int>(patience.count()));
  std::array<char, 4'096> taken{};
  while (::read(events_, taken.data(), taken.size()) > 0) {
  }
}

} // namespace assay::agent
