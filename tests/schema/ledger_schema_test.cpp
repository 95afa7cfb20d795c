// The schema and the field lists say the same, in both directions.

#include "schema/ledger.capnp.h"
#include "src/wire/export_codec.hpp"
#include "src/wire/row_codec.hpp"
#include "tests/schema/filled.hpp"

#include <capnp/dynamic.h>
#include <capnp/serialize.h>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cctype>

namespace assay::test {

namespace {

ledger::record around(ledger::payload p) {
  auto r = filler{}.make<ledger::record>();
  r.payload = std::move(p);
  return r;
}

/// Every field differs from its default, through structs, unions and lists.
void check_all_set(capnp::DynamicStruct::Reader value, const std::string& path) {
  auto inside = [&](const capnp::DynamicValue::Reader& v, std::string_view name) {
    auto within = path + "." + std::string{name};
    if (v.getType() == capnp::DynamicValue::STRUCT)
      check_all_set(v.as<capnp::DynamicStruct>(), within);
    if (v.getType() != capnp::DynamicValue::LIST)
      return;
    for (auto element : v.as<capnp::DynamicList>())
      if (element.getType() == capnp::DynamicValue::STRUCT)
        check_all_set(element.as<capnp::DynamicStruct>(), within);
  };
  KJ_IF_MAYBE (member, value.which()) {
    inside(value.get(*member), member->getProto().getName().cStr());
    return;
  }
  for (auto field : value.getSchema().getFields()) {
    auto name = field.getProto().getName();
    INFO(path << "." << name.cStr());
    auto is_mapping_value =
      path.ends_with("labels") || path.ends_with("args") || path.ends_with("options");
    CHECK_FALSE((field.getType().isFloat32() || field.getType().isFloat64()));
    CHECK((is_mapping_value || value.has(field, capnp::HasMode::NON_DEFAULT)));
    inside(value.get(field), name.cStr());
  }
}

template <class Root>
void check_all_set(std::string bytes, const std::string& name) {
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::copy(bytes.begin(), bytes.end(), words.asBytes().begin());
  kj::ArrayPtr<const capnp::word> segment = words;
  capnp::SegmentArrayMessageReader message{kj::arrayPtr(&segment, 1)};
  check_all_set(capnp::toDynamic(message.getRoot<Root>()), name);
}

template <class Root>
struct root_of {
  using type = Root;
};

template <class Root>
std::string by_library(const std::string& bytes) {
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::copy(bytes.begin(), bytes.end(), words.asBytes().begin());
  kj::ArrayPtr<const capnp::word> segment = words;
  capnp::SegmentArrayMessageReader message{kj::arrayPtr(&segment, 1)};
  auto out = capnp::canonicalize(message.getRoot<Root>());
  auto all = out.asBytes();
  return {reinterpret_cast<const char*>(all.begin()), all.size()};
}

} // namespace

TEST_CASE("every field of the schema is written by some value, and none is a float (I5)") {
  each_filled<ledger::payload>([](std::string_view name, ledger::payload p) {
    check_all_set<schema::Record>(wire::encode(around(std::move(p))), std::string{name});
  });
  each_filled<catalog::declaration>([](std::string_view name, catalog::declaration d) {
    check_all_set<schema::Record>(
      wire::encode(around(ledger::declared{std::move(d)})), std::string{name}
    );
  });
  each_filled<ledger::state_entry>([](std::string_view name, const ledger::state_entry& s) {
    check_all_set<schema::StateEntry>(wire::encode(s), std::string{name});
  });
  each_filled<ledger::row>([](std::string_view name, const ledger::row& r) {
    check_all_set<schema::Row>(wire::encode_row(r), std::string{name});
  });
}

// Structs of a list are as long as the longest of them, and what is empty at an end is left out: so
// values with gaps, in every place, say more than full ones.
TEST_CASE("what is written is what the library calls canonical, and is read as it was") {
  auto each = [](auto value, auto encode_one, auto decode_one, auto root, std::string_view name) {
    auto bytes = encode_one(value);
    INFO(name);
    CHECK(bytes == by_library<typename decltype(root)::type>(bytes));
    auto again = decode_one(bytes);
    REQUIRE(again);
    CHECK(*again == value);
  };
  for (int skips : {1, 2, 3, 5, 7, 1'000}) {
    INFO("every " << skips);
    each_filled<ledger::payload>(
      [&](std::string_view name, ledger::payload p) {
        auto encode_one = [](const ledger::record& r) { return wire::encode(r); };
        each(
          around(std::move(p)), encode_one, wire::decode_record, root_of<schema::Record>{}, name
        );
      },
      skips
    );
    each_filled<ledger::row>(
      [&](std::string_view name, const ledger::row& r) {
        each(r, wire::encode_row, wire::decode_row, root_of<schema::Row>{}, name);
      },
      skips
    );
  }
}

TEST_CASE("enumerations have the schema's names at the schema's numbers") {
  auto same = [](auto schema_enum, auto first, std::size_t count) {
    auto enumerants = schema_enum.getEnumerants();
    REQUIRE(enumerants.size() == count);
    for (unsigned i = 0; i < count; ++i) {
      auto value = static_cast<decltype(first)>(i);
      std::string plain;
      for (char c : std::string{name(value)})
        if (c != '_' && c != '-')
          plain += c;
      std::string written{enumerants[i].getProto().getName().cStr()};
      for (auto& c : written)
        c = static_cast<char>(std::tolower(c));
      CHECK(plain == written);
    }
  };
  using capnp::Schema;
  same(Schema::from<schema::Authentication>(), ledger::authentication{}, 6);
  same(Schema::from<schema::Trust>(), ledger::trust{}, 3);
  same(Schema::from<schema::Relation>(), ledger::relation{}, 5);
  same(Schema::from<schema::DeclarationKind>(), ledger::declaration_kind{}, 9);
  same(Schema::from<schema::ArtifactState>(), ledger::artifact_state{}, 6);
  same(Schema::from<schema::RunStage>(), ledger::run_stage{}, 5);
  same(Schema::from<schema::RunStatus>(), ledger::run_status{}, 3);
  same(Schema::from<schema::PredicateOutcome>(), ledger::predicate_outcome{}, 3);
  same(Schema::from<schema::RevocationTarget>(), ledger::revocation_target{}, 2);
  same(Schema::from<schema::Observation>(), ledger::observation{}, 4);
  same(Schema::from<schema::IdentityRole>(), ledger::identity_role{}, 4);
  same(Schema::from<schema::HostDuty>(), ledger::host_duty{}, 3);
  same(Schema::from<schema::JobPriority>(), ledger::job_priority{}, 3);
  same(Schema::from<schema::JobEnd>(), ledger::job_end{}, 3);
  same(Schema::from<schema::QualificationState>(), qualification::state{}, 9);
  same(Schema::from<schema::QualificationEvent>(), qualification::event{}, 13);
  same(Schema::from<schema::MovesState>(), moves::state{}, 12);
  same(Schema::from<schema::MovesEvent>(), moves::event{}, 13);
  same(Schema::from<schema::Standing>(), moves::standing{}, 3);
  same(Schema::from<schema::Family>(), catalog::family{}, 6);
  same(Schema::from<schema::ArtifactKind>(), catalog::artifact_kind{}, 8);
  same(Schema::from<schema::ImplementationStatus>(), catalog::implementation_status{}, 6);
  same(Schema::from<schema::Task>(), contract::task{}, 5);
  same(Schema::from<schema::TrafficClass>(), contract::traffic_class{}, 4);
  same(Schema::from<schema::DegradedRule>(), contract::degraded_rule{}, 3);
}

} // namespace assay::test
