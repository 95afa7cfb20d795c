#include "src/pool/reach.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::pool {

namespace {

replica_view at(std::string address, std::string loopback = "boot-a/1") {
  replica_view r;
  r.address = std::move(address);
  r.loopback = std::move(loopback);
  return r;
}

} // namespace

TEST_CASE("on its own host a replica is reached wherever it listens and whatever the pool says") {
  for (const auto* address : {"127.0.0.1:7200", "10.0.0.2:7200"})
    for (auto accepted : {false, true})
      CHECK(reach_of(at(address), accepted, "boot-a/1") == reach::reached);
}

TEST_CASE("from another host nothing is reached without the pool's word") {
  for (const auto* address : {"127.0.0.1:7200", "10.0.0.2:7200"})
    CHECK(reach_of(at(address), false, "boot-b/1") == reach::plaintext_refused);
}

TEST_CASE("with the pool's word another host reaches what does not listen on loopback") {
  CHECK(reach_of(at("10.0.0.2:7200"), true, "boot-b/1") == reach::reached);
  for (const auto* ip : {"127.0.0.1", "127.7.7.7", "0.0.0.0", "::1", "::"})
    CHECK(reach_of(at(std::string{ip} + ":7200"), true, "boot-b/1") == reach::loopback_elsewhere);
}

TEST_CASE("two network namespaces of one machine are two hosts") {
  CHECK(reach_of(at("127.0.0.1:7200", "boot-a/2"), false, "boot-a/1") != reach::reached);
}

TEST_CASE("what an older agent or an ingress without a name of its loopback leaves open is reached"
) {
  CHECK(reach_of(at("127.0.0.1:7200", ""), false, "boot-a/1") == reach::reached);
  CHECK(reach_of(at("127.0.0.1:7200"), false, "") == reach::reached);
}

TEST_CASE("every reason says what to do, and none is given where there is none") {
  CHECK(why_unreached(reach::reached).empty());
  CHECK(why_unreached(reach::plaintext_refused).find("plaintext: accepted") != std::string::npos);
  CHECK(why_unreached(reach::loopback_elsewhere).find("`address`") != std::string::npos);
}

} // namespace assay::pool
