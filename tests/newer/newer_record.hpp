#pragma once
// Records as a program of the next schema version knows them: one more kind and one more field.
//
// What the schema's newer file says (tests/newer/CMakeLists.txt) has its value here. The rest of
// the program is today's and has no word for it, so in values of `ledger::record` the newer things
// stand in today's words: who retires something "for good" writes the newer kind, and "(ticket X)"
// at the end of a reason is the newer field.

#include "src/ledger/record_fields.hpp"

namespace assay::ledger {

/// Of the newer kind: takes a declaration away, and says that it was for good.
struct withdrawn {
  declaration_kind kind = declaration_kind::pool;
  std::string name;
  std::string why;
};

template <class Known>
struct one_more;
template <class... Known>
struct one_more<std::variant<Known...>> {
  using type = std::variant<Known..., withdrawn>;
};
using newer_payload = one_more<payload>::type;

constexpr auto names_and_one_more() {
  std::array<std::string_view, std::variant_size_v<newer_payload>> all;
  std::copy(std::begin(alternatives<payload>), std::end(alternatives<payload>), all.begin());
  all.back() = "withdrawn";
  return all;
}
template <>
inline constexpr auto alternatives<newer_payload> = names_and_one_more();

/// The field `ticket` is the newer one.
struct newer_record {
  record known; ///< But for its payload.
  newer_payload payload;
  std::string ticket;
};

void fields(auto&& v, either<withdrawn> auto& x) {
  v("kind", x.kind);
  v("name", x.name);
  v("why", x.why);
}

void fields(auto&& v, either<newer_record> auto& x) {
  v("record_id", x.known.record_id);
  v("schema_version", x.known.schema_version);
  v("subjects", x.known.subjects);
  v("parents", x.known.parents);
  v("author", x.known.author);
  v("correlation_id", x.known.correlation_id);
  v("reason_code", x.known.reason_code);
  v("reason_text", x.known.reason_text);
  v("trust", x.known.trust);
  v("payload", x.payload);
  v("ticket", x.ticket);
}

} // namespace assay::ledger
