#include "src/ledger/chain.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger {

namespace {

const auto cluster = make_uuid7(1, {});
const auto one = sha256("one");
const auto two = sha256("two");

} // namespace

TEST_CASE("a record's hash is not the plain hash of its bytes") {
  CHECK(record_hash("bytes") != sha256("bytes"));
}

TEST_CASE("the chain changes with each thing it covers") {
  auto chain = chain_hash(one, 1, two, {5});
  CHECK(chain == chain_hash(one, 1, two, {5}));
  CHECK(chain != chain_hash(two, 1, two, {5}));
  CHECK(chain != chain_hash(one, 2, two, {5}));
  CHECK(chain != chain_hash(one, 1, one, {5}));
  CHECK(chain != chain_hash(one, 1, two, {6}));
}

TEST_CASE("what the leader signs changes with cluster, term, time, and the order of records") {
  std::vector<digest> both{one, two};
  std::vector<digest> swapped{two, one};
  auto message = batch_message(cluster, 1, {5}, both);
  CHECK(message == batch_message(cluster, 1, {5}, both));
  CHECK(message != batch_message(make_uuid7(2, {}), 1, {5}, both));
  CHECK(message != batch_message(cluster, 2, {5}, both));
  CHECK(message != batch_message(cluster, 1, {6}, both));
  CHECK(message != batch_message(cluster, 1, {5}, swapped));
  CHECK(message != batch_message(cluster, 1, {5}, {}));
}

TEST_CASE("a signature is good for its message and key, and for no other") {
  signing_key key{signing_key::seed{1}};
  signing_key other{signing_key::seed{2}};
  auto s = key.sign(one);
  CHECK(verify(key.public_part(), one, s));
  CHECK_FALSE(verify(key.public_part(), two, s));
  CHECK_FALSE(verify(other.public_part(), one, s));
  s[0] ^= 1;
  CHECK_FALSE(verify(key.public_part(), one, s));
}

TEST_CASE("a public key is written as 64 hexadecimal digits and nothing else is read as one") {
  signing_key key{signing_key::seed{1}};
  auto text = to_text(key.public_part());
  CHECK(text.size() == 64);
  CHECK(parse_public_key(text) == key.public_part());
  CHECK_FALSE(parse_public_key(text + "0"));
  CHECK_FALSE(parse_public_key("sha256:" + text));
  CHECK_FALSE(parse_public_key(std::string(64, 'x')));
}

} // namespace assay::ledger
