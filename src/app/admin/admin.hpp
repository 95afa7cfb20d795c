#pragma once
// The admin API (docs/admin-api.md): a request in, a JSON document or a problem out.
//
// Handlers read tables that are linearizable, decide nothing that a record must decide, and ask the
// actor whose business it is. They run on the listener's threads and may wait.

#include "src/app/parts.hpp"
#include "src/app/proposing.hpp"
#include "src/http/service_listener.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace assay::app::admin {

namespace json = boost::json;

/// What a handler sees of a request.
struct call {
  app::parts& parts;
  std::shared_ptr<const leading> lead; ///< Set for what only the leader answers.
  std::vector<std::string> path;       ///< Segments behind `/assay/v1/`, decoded.
  std::map<std::string, std::string> query;
  json::object body;
  ledger::author author;
};

/// A JSON document, or, with `text_type` set, a body of another type: whole, or piece by piece.
struct reply {
  json::object document;
  std::string text;
  std::string text_type;
  int status = 200; ///< Of the text: another member's answer comes as it was given.
  std::function<std::optional<std::string>()> next_piece{};
};

using answer = result<reply, problem>;

/// What a read is answered from: on the leader the newest there is, elsewhere this member's own
/// copy, and the answer says which.
struct seen_tables {
  std::shared_ptr<const ledger::tables> tables;
  std::uint64_t seq = 0;
  json::object
    label; ///< `seq`, `freshness`, and for a copy `as_of_ms`: when its last batch was stamped.
};
result<seen_tables, problem> read_for(const call& c); // dispatch.cpp

/// The whole API as one handler for a listener.
http::service_response serve(app::parts& parts, const http::service_request& request);
/// The same for somebody whom another member named.
http::service_response
serve_as(app::parts& parts, const http::service_request& request, const ledger::author& author);

// -- handlers, by file ----------------------------------------------------------------------------

answer apply(const call& c);            // catalog.cpp
answer remove(const call& c);           // catalog.cpp
answer list(const call& c);             // views.cpp
answer describe(const call& c);         // views.cpp
answer qualify(const call& c);          // decisions.cpp
answer matrix(const call& c);           // matrix.cpp
answer promote(const call& c);          // decisions.cpp
answer reverse(const call& c);          // decisions.cpp
answer waive(const call& c);            // decisions.cpp
answer revoke(const call& c);           // decisions.cpp
answer approve(const call& c);          // decisions.cpp
answer explain(const call& c);          // explain.cpp
answer decision(const call& c);         // explain.cpp
answer ledger_log(const call& c);       // records.cpp
answer ledger_show(const call& c);      // records.cpp
answer ledger_verify(const call& c);    // records.cpp
answer ledger_export(const call& c);    // served.cpp
answer who_served(const call& c);       // served.cpp
answer history(const call& c);          // served.cpp
answer status(const call& c);           // cluster.cpp
answer has_cluster(const call& c);      // members.cpp
answer cluster_backup(const call& c);   // backup.cpp
answer cluster_status(const call& c);   // members.cpp
answer cluster_token(const call& c);    // members.cpp
answer cluster_transfer(const call& c); // members.cpp
answer cluster_remove(const call& c);   // members.cpp
answer cluster_keys(const call& c);     // keys.cpp
answer member_keys(const call& c);      // keys.cpp
answer prepare_keys(const call& c);     // keys.cpp
answer rotate_keys(const call& c);      // keys.cpp
answer trust_clock(const call& c);      // members.cpp
answer host_token(const call& c);       // members.cpp
answer host_drain(const call& c);       // hosts.cpp
answer host_quarantine(const call& c);  // hosts.cpp
answer host_resume(const call& c);      // hosts.cpp
answer env(const call& c);              // cluster.cpp
answer submit(const call& c);           // jobs.cpp
answer job_output(const call& c);       // jobs.cpp
answer job_errors(const call& c);       // jobs.cpp
answer cancel_job(const call& c);       // jobs.cpp
answer blob(const call& c);             // jobs.cpp

// -- shared

/// Why a path or query cannot be taken: names become part of answers, records and logs, which hold
/// text. A body is checked by its parser.
std::optional<problem> not_text(const http::service_request& request);       // body.cpp
result<json::object, problem> body_of(const http::service_request& request); // body.cpp

/// body.cpp: the text at `key`, or a problem that names the key. `required` false: empty when it is
/// not there.
result<std::string, problem>
text_at(const json::object& from, std::string_view key, bool required = true);
result<std::int64_t, problem>
number_at(const json::object& from, std::string_view key, std::int64_t otherwise);
/// False when it is not there. `"true"` is refused: a dry run that is none would change things.
result<bool, problem> flag_at(const json::object& from, std::string_view key);

/// cluster.cpp: what is wrong with the files of this member, for a person.
void add_file_problems(const app::parts& parts, const store::engine_status& now, json::array& to);

/// A member of the cluster, or that there is none of that name.
result<ledger::member, problem>
member_called(const ledger::tables& t, const std::string& name); // members.cpp

/// A change of one member that somebody asks for, and the ledger that names it.
struct member_order {
  ledger::member member;
  std::string reason;
  std::shared_ptr<const ledger::tables> tables;
};
/// From the body's `name` and `reason`, by a linearizable read.
result<member_order, problem> member_order_of(const call& c); // members.cpp

/// Gives up leadership; `to` 0: whoever is most level.
result<void, problem> hand_over(const app::parts& parts, std::uint64_t to); // members.cpp
/// What a standalone says to all that is about members.
unexpected<problem> no_group(); // members.cpp

/// Why this assayd cannot answer for the cluster now, and who can.
problem no_leader_here(const app::parts& parts); // members.cpp
/// A separate ingress passes nothing on, and says who answers.
problem not_for_an_ingress(const app::parts& parts); // members.cpp

/// Puts one record on the ledger for the caller; the receipt as a document.
answer put(
  const call& c,
  ledger::payload what,
  const std::string& reason,
  ledger::trust believed = ledger::trust::claimed
);

json::object to_json(const store::receipt& r);

/// A record as it stands in the ledger.
struct read_record {
  ledger::stamp stamp;
  ledger::record record;
};
/// Nothing: no record has that number.
result<std::optional<read_record>, problem> record_at(const app::parts& parts, std::uint64_t seq);
/// 0: no record has that id.
result<std::uint64_t, problem> seq_of_record(const app::parts& parts, const uuid& id);

/// One record's row as `assay ledger log` shows it, newest first; `subject` empty: all.
struct history_query {
  std::string subject_kind;
  std::string subject;
  std::size_t limit = 20;
};
result<json::array, problem>
history_of(const app::parts& parts, const history_query& what); // records.cpp

} // namespace assay::app::admin
