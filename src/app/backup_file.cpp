#include "src/app/backup_file.hpp"

#include "src/app/backup_frames.hpp"
#include "src/ledger/schema.hpp"
#include "src/store/ledger_audit.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/wire/row_codec.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace assay::app {

namespace {

namespace json = boost::json;

std::optional<ledger::head_row> head_in(const store::stored_row& row) {
  auto decoded = wire::decode_row(row.value);
  if (!decoded || !std::holds_alternative<ledger::head_row>(*decoded))
    return {};
  return std::get<ledger::head_row>(*std::move(decoded));
}

bool is_head(const store::stored_row& row) {
  return row.key.starts_with(store::row_key(ledger::table::head, {}));
}

std::string to_json(const backup_manifest& m) {
  return json::serialize(json::object{
    {"cluster", to_text(m.cluster)},
    {"cluster_name", m.cluster_name},
    {"member", m.member},
    {"signing", ledger::to_text(ledger::public_key{m.signing})},
    {"index", m.at.index},
    {"term", m.at.term},
    {"seq", m.seq},
    {"chain", to_text(m.chain)},
    {"last_member", m.last_member},
    {"rows", m.rows},
    {"blobs", m.blobs}});
}

/// Throws for what is missing or of another type; the digest over the file has said nothing yet.
backup_manifest parse_manifest(const std::string& text) {
  auto all = json::parse(text).as_object();
  auto number = [&](const char* key) { return all.at(key).to_number<std::uint64_t>(); };
  auto word = [&](const char* key) { return json::value_to<std::string>(all.at(key)); };
  auto cluster = parse_uuid(word("cluster"));
  auto chain = parse_digest(word("chain"));
  auto signing = ledger::parse_public_key(word("signing"));
  if (!cluster || !chain || !signing)
    throw std::runtime_error{"an id or a key cannot be read"};
  return {
    *cluster,
    word("cluster_name"),
    word("member"),
    ledger::signing_key::seed{*signing},
    {number("index"), number("term")},
    number("seq"),
    *chain,
    number("last_member"),
    number("rows"),
    number("blobs")};
}

// -- writing

class backup_making {
public:
  backup_making(const backup_source& from, backup_writer to) : from_{from}, to_{std::move(to)} {}

  result<void, problem> run() {
    if (auto done = rows(); !done)
      return done;
    if (auto done = blobs(); !done)
      return done;
    if (auto done = to_.frame('m', to_json(what_)); !done)
      return done;
    return to_.finish(root_.finish());
  }

private:
  result<void, problem> rows() {
    std::optional<ledger::head_row> head;
    auto at = from_.engine.read_moment([&](const auto& rows) -> result<void, problem> {
      for (const auto& row : rows) {
        root_.add(row);
        if (is_head(row))
          head = head_in(row);
      }
      what_.rows += rows.size();
      return to_.frame('r', encode_rows(rows));
    });
    if (!at)
      return unexpected{at.error()};
    if (!head || !head->cluster)
      return unexpected{problem{
        problem_kind::unavailable,
        "the ledger here is empty still",
        "ledger",
        "ask again when assay cluster status shows this member up"}};
    auto me = std::ranges::find(head->members, from_.member, &ledger::member::name);
    auto signing = me == head->members.end() ? std::nullopt : from_.signing(me->signing_public);
    if (!signing)
      return unexpected{problem{
        problem_kind::refused,
        "the ledger names no key of this assayd for a member '" + from_.member + "'",
        from_.member,
        "back up on a coordinator that assay cluster status lists"}};
    what_.signing = *signing;
    what_.cluster = *head->cluster;
    what_.cluster_name = head->name;
    what_.member = from_.member;
    what_.at = *at;
    what_.seq = head->seq;
    what_.chain = head->chain;
    what_.last_member = head->last_member;
    return {};
  }

  /// Behind the rows: what they name was written before them, and blobs never change.
  result<void, problem> blobs() {
    std::error_code failed;
    for (std::filesystem::recursive_directory_iterator at{from_.blob_folder, failed}, end;
         !failed && at != end;
         at.increment(failed)) {
      // A blob's folder is called by the first two digits of its name.
      const auto& file = at->path();
      auto name = parse_digest(file.parent_path().filename().string() + file.filename().string());
      if (!name || from_.blobs.path(*name) != file)
        continue;
      if (auto done = blob(*name); !done)
        return done;
    }
    if (failed)
      return unexpected{
        store::file_problem(failed.value(), "read the folder of blobs", from_.blob_folder)};
    return {};
  }

  result<void, problem> blob(const digest& name) {
    ++what_.blobs;
    auto written = to_.frame('b', to_text(name));
    if (!written)
      return written;
    auto read = from_.blobs.read(name, [&](std::string_view piece) {
      written = to_.frame('p', piece);
      return written.has_value();
    });
    return written ? read : written;
  }

  const backup_source& from_;
  backup_writer to_;
  backup_manifest what_;
  store::state_root root_;
};

// -- reading

class backup_reading {
public:
  backup_reading(backup_reader from, const backup_sink& to) : from_{std::move(from)}, to_{to} {}

  result<backup_manifest, problem> run() {
    for (;;) {
      auto frame = from_.next();
      if (!frame)
        return unexpected{frame.error()};
      auto done = take(*frame);
      if (!done)
        return unexpected{done.error()};
      if (frame->kind == 'e')
        return *what_;
    }
  }

private:
  unexpected<problem> damaged(const std::string& what) const {
    return unexpected{from_.damaged(what)};
  }

  result<void, problem> take(const backup_frame& frame) {
    if (what_ && frame.kind != 'e')
      return damaged("something follows its manifest");
    if (frame.kind == 'r')
      return rows(frame.bytes);
    if (frame.kind == 'p')
      return piece(frame.bytes);
    if (auto done = end_blob(); !done)
      return done;
    if (frame.kind == 'b')
      return begin_blob(frame.bytes);
    if (frame.kind == 'm')
      return manifest(frame.bytes);
    return frame.kind == 'e' ? end(frame.bytes) : damaged("a frame is of no known kind");
  }

  result<void, problem> rows(const std::string& bytes) {
    auto rows = decode_rows(bytes);
    if (!rows)
      return damaged("rows cannot be read");
    for (const auto& row : *rows) {
      if (row.key <= last_key_)
        return damaged("rows are out of order");
      last_key_ = row.key;
      root_.add(row);
      if (is_head(row))
        head_ = head_in(row);
      if (is_head(row) && head_ && !ledger::too_old(*head_, ledger::known_schema()).empty())
        return unexpected{from_.too_new(
          "is of schema version " + std::to_string(ledger::agreed_schema(*head_))
          + ", and this assayd knows versions 1 to " + std::to_string(ledger::known_schema())
        )};
      if (auto wrong = audit_.take(row.key, row.value); !wrong.empty())
        return damaged(wrong);
    }
    rows_ += rows->size();
    return to_.rows ? to_.rows(*rows) : result<void, problem>{};
  }

  result<void, problem> begin_blob(const std::string& name) {
    blob_ = parse_digest(name);
    if (!blob_)
      return damaged("a blob's name is no digest");
    ++blobs_;
    content_ = hasher{};
    if (!to_.blobs)
      return {};
    auto file = to_.blobs->start();
    if (!file)
      return unexpected{file.error()};
    file_.emplace(std::move(*file));
    return {};
  }

  result<void, problem> piece(const std::string& bytes) {
    if (!blob_)
      return damaged("a piece of a blob has no name");
    content_.add(bytes);
    return file_ ? file_->write(bytes) : result<void, problem>{};
  }

  result<void, problem> end_blob() {
    if (!blob_)
      return {};
    if (content_.finish() != *blob_)
      return damaged("blob " + to_text(*blob_) + " is not what it was");
    blob_.reset();
    if (!file_)
      return {};
    auto kept = file_->finish();
    file_.reset();
    return kept ? result<void, problem>{} : unexpected{kept.error()};
  }

  result<void, problem> manifest(const std::string& text) {
    try {
      what_ = parse_manifest(text);
    } catch (const std::exception& why) {
      return damaged(std::string{"its manifest cannot be read: "} + why.what());
    }
    if (rows_ != what_->rows || blobs_ != what_->blobs)
      return damaged("rows or blobs are missing");
    return {};
  }

  result<void, problem> end(const std::string& root) {
    if (!what_ || !head_)
      return damaged("it has no manifest or no head");
    auto is = root_.finish();
    if (root.size() != is.bytes.size() || std::memcmp(root.data(), is.bytes.data(), root.size()) != 0)
      return damaged("the root over the rows is another one");
    if (auto wrong = audit_.finish(what_->at.index); !wrong.empty())
      return damaged(wrong);
    auto is_of_it = head_->cluster == what_->cluster && head_->seq == what_->seq
                    && head_->chain == what_->chain && head_->last_member == what_->last_member;
    if (!is_of_it)
      return damaged("its manifest is of another moment");
    return known_key();
  }

  /// Nobody would believe what a restored member signs with another key.
  result<void, problem> known_key() {
    auto who = std::ranges::find(head_->members, what_->member, &ledger::member::name);
    auto key = ledger::to_text(ledger::signing_key{what_->signing}.public_part());
    if (who == head_->members.end() || !who->voter || who->signing_public != key)
      return damaged("its key is not that of a voting member '" + what_->member + "'");
    return {};
  }

  backup_reader from_;
  const backup_sink& to_;
  store::ledger_audit audit_;
  store::state_root root_;
  std::string last_key_;
  std::optional<ledger::head_row> head_;
  std::optional<backup_manifest> what_;
  std::optional<digest> blob_;
  std::optional<store::blob_store::writer> file_;
  hasher content_;
  std::uint64_t rows_ = 0, blobs_ = 0;
};

result<backup_manifest, problem>
make_and_check(const std::filesystem::path& partial, const backup_source& from) {
  // The moment of the rows is not before the newest view, and a schema version never goes down: a
  // head that has gone further says so itself.
  auto schema = ledger::agreed_schema(store::tables_of(from.engine.current())->head);
  auto to = backup_writer::create(partial, schema);
  if (!to)
    return unexpected{to.error()};
  if (auto done = backup_making{from, std::move(*to)}.run(); !done)
    return unexpected{done.error()};
  return read_backup(partial);
}

} // namespace

result<backup_manifest, problem>
write_backup(const std::filesystem::path& file, const backup_source& from) {
  auto partial = file;
  partial += ".partial";
  for (const auto& place : {file, partial})
    if (auto may = may_become_backup(place); !may)
      return unexpected{may.error()};
  auto made = make_and_check(partial, from);
  std::error_code failed;
  if (made)
    std::filesystem::rename(partial, file, failed);
  if (made && !failed) {
    auto synced = store::sync_folder(file.parent_path());
    return synced ? made : unexpected{synced.error()};
  }
  auto why =
    made ? store::file_problem(failed.value(), "put the backup in place", file) : made.error();
  std::filesystem::remove(partial, failed); // There may be none; what went wrong is said already.
  why.what += "; no backup was written";
  return unexpected{std::move(why)};
}

result<backup_manifest, problem>
read_backup(const std::filesystem::path& file, const backup_sink& to) {
  auto from = backup_reader::open(file);
  if (!from)
    return unexpected{from.error()};
  return backup_reading{std::move(*from), to}.run();
}

} // namespace assay::app
