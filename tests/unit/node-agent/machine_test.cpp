#include "node-agent/host/cgroup.hpp"
#include "node-agent/host/ports.hpp"
#include "node-agent/host/process.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

namespace assay::agent {

namespace {

/// A listening socket on a free loopback port, ours.
class listener {
public:
  listener() {
    file_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(file_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(file_, 1) == 0);
    socklen_t size = sizeof address;
    REQUIRE(::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~listener() { ::close(file_); }
  std::uint16_t port() const { return port_; }

private:
  int file_ = -1;
  std::uint16_t port_ = 0;
};

} // namespace

// proc(5): the name may hold blanks and brackets (prometheus/procfs, testdata 1020 and 33).
TEST_CASE("a process's name ends at the last bracket of its stat line") {
  auto odd = parse_stat(
    "1020 ((a b ) ( c d) ) R 28378 1020 28378 34842 1020 4218880 286 0 0 0 0 0 0 0 20 0 1 0 "
    "10839175 10395648 155"
  );
  REQUIRE(odd);
  CHECK(odd->name == "(a b ) ( c d) ");
  CHECK(odd->parent == 28378);
  CHECK(odd->session == 28378);
  CHECK(odd->start_ticks == 10839175);
}

TEST_CASE("a stat line that is cut is not read") {
  CHECK_FALSE(parse_stat("1020 (a) R 1 2"));
  CHECK_FALSE(parse_stat("1020 a R 1 2 3"));
  CHECK_FALSE(parse_stat(""));
}

TEST_CASE("descendants are found across generations, and nobody else") {
  std::vector<process_stat> all{
    {2, "", 'S', 1, 0, 0, 0},
    {3, "", 'S', 2, 0, 0, 0},
    {4, "", 'S', 3, 0, 0, 0},
    {5, "", 'S', 1, 0, 0, 0}};
  std::vector<pid_t> found;
  for (const auto& process : descendants(all, 2))
    found.push_back(process.pid);
  CHECK(found == std::vector<pid_t>{3, 4});
}

TEST_CASE("a pid with another start time is another process") {
  auto self = ref_of(::getpid());
  REQUIRE(self);
  CHECK(is_alive(*self));
  CHECK_FALSE(is_alive({self->pid, self->start_ticks + 1}));
  CHECK_FALSE(send_signal({self->pid, self->start_ticks + 1}, SIGKILL));
}

TEST_CASE("a child that ended and was not waited for counts as ended") {
  auto pid = ::fork();
  if (pid == 0)
    ::_exit(0);
  siginfo_t what{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &what, WEXITED | WNOWAIT) == 0);
  auto who = ref_of(pid);
  REQUIRE(who);
  CHECK_FALSE(is_alive(*who));
  ::waitpid(pid, nullptr, 0);
}

TEST_CASE("a file is replaced as a whole, with its mode from the first byte") {
  test::temp_folder folder;
  auto path = folder.write("secret", "old");
  REQUIRE(replace_file(path, "new", 0600));
  CHECK(read_small_file(path) == "new");
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK_FALSE(replace_file(folder.path() / "no/such/folder", "x", 0600));
}

TEST_CASE("a range of ports is FIRST-LAST or one port, and nothing else") {
  CHECK(*parse_port_range("7200-7999") == port_range{7200, 7999});
  CHECK(*parse_port_range("1-65535") == port_range{1, 65535});
  CHECK(*parse_port_range("80") == port_range{80, 80});
  for (const auto* text : {"", "0-5", "7999-7200", "1-65536", "a-b", "7200-", "-7200", "1-2-3"})
    CHECK_FALSE(parse_port_range(text));
}

TEST_CASE("a port that is taken is passed over, and a full range is a problem that says so") {
  listener taken;
  CHECK_FALSE(is_free(taken.port()));
  auto full = find_free_port({taken.port(), taken.port()}, {});
  REQUIRE_FALSE(full);
  CHECK(full.error().kind == problem_kind::exhausted);
}

TEST_CASE("a listening port is ours, a stranger's or nobody's") {
  listener socket;
  CHECK(owner_of_port(socket.port(), {::getpid()}) == port_owner::ours);
  CHECK(owner_of_port(socket.port(), {}) == port_owner::stranger);
  std::uint16_t port = 0;
  {
    listener closed;
    port = closed.port();
  }
  CHECK(owner_of_port(port, {::getpid()}) == port_owner::nobody);
}

// proc_net_tcp: state 0A is LISTEN, the port is hexadecimal, the inode is the tenth field.
TEST_CASE("only listening sockets on the port are read from the kernel's table") {
  auto table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
               "timeout inode\n"
               "   0: 0100007F:1C20 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0  "
               "      0 111 1\n"
               "   1: 0100007F:1C20 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0  "
               "      0 222 1\n"
               "   2: 0100007F:1C21 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0  "
               "      0 333 1\n";
  CHECK(listening_inodes(table, 7200) == std::vector<std::uint64_t>{111});
}

TEST_CASE("a group is looked for where its controller is mounted, not where a 0:: line stands") {
  auto hybrid_groups = "8:pids:/\n4:memory:/some/group\n0::/\n";
  auto hybrid_mounts = "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                       "33 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  CHECK(
    group_directory(hybrid_groups, hybrid_mounts, "memory") == "/sys/fs/cgroup/memory/some/group"
  );
  auto v2_mounts = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  CHECK(group_directory("0::/user.slice\n", v2_mounts, "memory") == "/sys/fs/cgroup/user.slice");
  CHECK(group_directory("0::/\n", "", "memory").empty());
}

} // namespace assay::agent
