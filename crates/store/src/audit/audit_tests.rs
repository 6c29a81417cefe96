use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cloister_protocol::UserName;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::checkpoint::Checkpoint;
use super::export::verify_export;
use super::record::Extent;
use super::witness::{Delivery, FileWitness, Witnessed};
use super::*;
use crate::test_world::{self, LIMITS};

const CANARY: &str = "canary-7f3a-words-of-ada";

struct World {
    dir: tempfile::TempDir,
    store: Store,
    sealer: Sealer,
    ada: UserId,
}

const SMALL: SealOptions =
    SealOptions { segment_entries: 4, segment_age: Duration::from_secs(3600) };

impl World {
    async fn new() -> Self {
        let (dir, store) = test_world::store().await;
        let ada = test_world::add(&store, "ada").await.id;
        let (sealer, repairs) =
            Sealer::open(store.clone(), &dir.path().join("audit"), SMALL).await.unwrap();
        assert_eq!(repairs, []);
        Self { dir, store, sealer, ada }
    }

    /// Some entries in both chains, sealed and signed.
    async fn sealed(entries: u32) -> Self {
        let mut world = Self::new().await;
        world.act(entries).await;
        world.sealer.close_segments().await.unwrap();
        world.sealer.checkpoint().await.unwrap().unwrap();
        world
    }

    async fn act(&self, entries: u32) {
        for i in 0..entries {
            let entry =
                Entry::new(&Actor::person("u1"), "test.do", format!("thing {i}")).with(CANARY);
            self.store.audit().record(entry.of(self.ada)).await.unwrap();
            self.store.audit().record(Entry::new(&Actor::Operator, "test.run", i)).await.unwrap();
        }
    }

    fn audit_dir(&self) -> PathBuf {
        self.dir.path().join("audit")
    }

    fn witness_path(&self) -> PathBuf {
        self.dir.path().join("witness.jsonl")
    }

    fn chain(&self) -> Owner {
        Owner::User(self.ada)
    }

    async fn verify(&self) -> Report {
        self.store.audit().verify_audit(&Verification::of(&self.audit_dir())).await.unwrap()
    }

    async fn verify_with_witness(&self) -> Report {
        let witness = Some(self.witness_path());
        let what = Verification { witness, ..Verification::of(&self.audit_dir()) };
        self.store.audit().verify_audit(&what).await.unwrap()
    }

    /// The connection of someone who has the file and no respect.
    async fn raw(&self) -> SqliteConnection {
        let path = self.dir.path().join("cloister.db");
        sqlx::sqlite::SqliteConnectOptions::new().filename(path).connect().await.unwrap()
    }

    /// An entry at a time of one's choice.
    async fn forge(&self, at: i64, entry: Entry) {
        let mut tx = self.store.begin().await.unwrap();
        super::record(&mut tx, at, entry).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn tamper(&self, sql: &str) {
        let mut raw = self.raw().await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut raw).await.unwrap();
        raw.close().await.unwrap();
    }

    async fn reopen(self) -> (Self, Vec<Repair>) {
        let Self { dir, store, sealer, ada } = self;
        drop(sealer);
        store.close().await.unwrap();
        let store = Store::open(&dir.path().join("cloister.db")).await.unwrap();
        let (sealer, repairs) =
            Sealer::open(store.clone(), &dir.path().join("audit"), SMALL).await.unwrap();
        (Self { dir, store, sealer, ada }, repairs)
    }
}

#[track_caller]
fn assert_first(report: &Report, fault: Fault, chain: &str, entry: u64) {
    let first = report.findings.first().expect("the change is found");
    let named = (first.fault, first.chain.map(|c| c.to_string()), first.entry);
    assert_eq!(named, (fault, Some(chain.to_owned()), Some(entry)), "{:#?}", report.findings);
}

#[tokio::test]
async fn entries_are_chained_per_user_and_for_the_platform() {
    let mut world = World::new().await;
    world.act(10).await;
    let workspace = WorkspaceId::from_number(1);
    world.store.audit().record(Entry::of_cell((workspace, None), "task.new", "T1")).await.unwrap();
    let missing = Entry::of_cell((WorkspaceId::from_number(99), None), "task.new", "T1");
    assert!(world.store.audit().record(missing).await.is_err(), "an entry of nobody is refused");
    let own = world.store.audit().audit_of(world.chain(), None, 100).await.unwrap();
    assert_eq!(own.len(), 11);
    assert_eq!((own[0].actor.as_str(), own[0].seq), ("cell w1", 11));
    let before = world.store.audit().audit_of(world.chain(), Some(3), 100).await.unwrap();
    assert_eq!(before.iter().map(|row| row.seq).collect::<Vec<_>>(), [2, 1]);

    assert_eq!(world.sealer.close_segments().await.unwrap(), 2 + 2);
    let checkpoint = world.sealer.checkpoint().await.unwrap().unwrap();
    assert_eq!(checkpoint.heads.len(), 2);
    assert_eq!(world.sealer.checkpoint().await.unwrap(), None, "nothing has changed since");
    let report = world.verify().await;
    assert!(report.is_whole(), "{:#?}", report.findings);
    assert_eq!((report.chains, report.entries, report.sealed_entries), (2, 22, 16));
    assert_eq!(report.notes, [""; 0]);
}

#[tokio::test]
async fn without_its_entry_an_effect_does_not_happen() {
    let world = World::new().await;
    world
        .tamper(
            "CREATE TRIGGER full BEFORE INSERT ON audit_entries WHEN NEW.action = 'user.add' \
             BEGIN SELECT RAISE(ABORT, 'disk full'); END",
        )
        .await;
    let name: UserName = "bob".parse().unwrap();
    world.store.users().add_user(&Actor::Operator, &name, LIMITS).await.unwrap_err();
    world.act(1).await;
    assert!(world.store.users().user(&name).await.is_err(), "the user was not added");
    world.tamper("DROP TRIGGER full").await;
    world.store.users().add_user(&Actor::Operator, &name, LIMITS).await.unwrap();
    assert!(world.verify().await.is_whole());
}

#[tokio::test]
async fn what_was_recorded_before_there_were_chains_is_taken_in() {
    let world = World::new().await;
    world
        .tamper(
            "INSERT INTO audit_unchained (at, actor, action, subject, detail) VALUES \
             (1, 'operator', 'user.add', 'zoe', ''), (2, 'operator', 'model.use', 'executor', 'm')",
        )
        .await;
    let (world, _) = world.reopen().await;
    let tail = world.store.audit().audit_tail(2).await.unwrap();
    assert_eq!((tail[0].detail.as_str(), tail[0].subject.as_str()), ("model.use m", "executor"));
    let (world, _) = world.reopen().await;
    assert_eq!(
        world.store.audit().audit_of(Owner::Platform, None, 100).await.unwrap().len(),
        3,
        "once"
    );
}

#[tokio::test]
async fn every_change_to_the_database_is_found_and_named() {
    let world = World::sealed(10).await;
    let chain = "WHERE chain = 'u1' AND seq";
    for seq in 1..=10_u64 {
        let keep =
            format!("CREATE TABLE kept AS SELECT * FROM audit_entries {chain} BETWEEN 1 AND 10");
        world.tamper(&keep).await;
        let others = [
            (format!("UPDATE audit_entries SET detail = 'other' {chain} = {seq}"), Fault::Edited),
            (format!("UPDATE audit_entries SET actor = 'other' {chain} = {seq}"), Fault::Edited),
            (format!("UPDATE audit_entries SET action = 'other' {chain} = {seq}"), Fault::Edited),
            (format!("UPDATE audit_entries SET at = at + 1 {chain} = {seq}"), Fault::Edited),
            (format!("UPDATE audit_entries SET hash = x'00' {chain} = {seq}"), Fault::Edited),
            (
                format!("UPDATE audit_entries SET detail = NULL {chain} = {seq}"),
                Fault::ErasedSilently,
            ),
            (
                format!("DELETE FROM audit_entries {chain} = {seq}"),
                if seq == 10 { Fault::Truncated } else { Fault::Missing },
            ),
            (format!("DELETE FROM audit_entries {chain} >= {seq}"), Fault::Truncated),
        ];
        for (sql, fault) in others {
            world.tamper(&sql).await;
            assert_first(&world.verify().await, fault, "u1", seq);
            world
                .tamper("DELETE FROM audit_entries WHERE chain = 'u1'; INSERT INTO audit_entries SELECT * FROM kept")
                .await;
        }
        world.tamper("DROP TABLE kept").await;
    }
    world
        .tamper("INSERT INTO audit_entries SELECT 999, 'nobody', 1, at, action, actor, subject, names_salt, \
                 names_hash, detail, detail_salt, detail_hash, prev, hash FROM audit_entries WHERE id = 1")
        .await;
    assert_eq!(world.verify().await.findings[0].fault, Fault::Inserted);
    world.tamper("DELETE FROM audit_entries WHERE chain = 'nobody'").await;
    // Two rows that changed places are two that are not what was recorded.
    world
        .tamper(&format!(
            "UPDATE audit_entries SET seq = 1000 {chain} = 3; UPDATE audit_entries SET seq = 3 {chain} = 6; \
             UPDATE audit_entries SET seq = 6 {chain} = 1000"
        ))
        .await;
    assert_first(&world.verify().await, Fault::Edited, "u1", 3);
}

#[tokio::test]
async fn every_change_to_a_segment_is_found_named_and_repaired() {
    let mut world = World::sealed(10).await;
    let path = segment::path(&world.audit_dir(), world.chain(), 2);
    let good = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    assert_eq!(lines.len(), 6, "a heading, four entries, an ending");
    let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    for i in 1..=4_usize {
        let seq = 4 + i as u64;
        let edited = lines[i].replace("test.do", "test.no");
        let mut with_edit = lines.clone();
        with_edit[i] = &edited;
        let mut without = lines.clone();
        without.remove(i);
        let mut twice = lines.clone();
        twice.insert(i, lines[i]);
        let mut changes = vec![
            (text(&with_edit), Fault::Edited),
            (text(&without), Fault::Missing),
            (text(&twice), Fault::Inserted),
        ];
        if i < 4 {
            let mut swapped = lines.clone();
            swapped.swap(i, i + 1);
            changes.push((text(&swapped), Fault::Reordered));
        }
        for (changed, fault) in changes {
            std::fs::write(&path, changed).unwrap();
            let report = world.verify().await;
            assert_first(&report, fault, "u1", seq);
            assert_eq!(report.findings[0].place, Where::Segment(2));
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert_first(&world.verify().await, Fault::Truncated, "u1", 5);
    let repairs = world.sealer.repair().await.unwrap();
    assert_eq!(repairs.len(), 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), good);
    assert!(world.verify().await.is_whole());
    let tail = world.store.audit().audit_tail(1).await.unwrap();
    assert_eq!(tail[0].action, "audit.repair", "a repair is no secret");
}

#[tokio::test]
async fn a_segment_cut_at_any_byte_is_never_accepted() {
    let mut world = World::sealed(4).await;
    let path = segment::path(&world.audit_dir(), world.chain(), 1);
    let good = std::fs::read(&path).unwrap();
    for cut in (0..good.len() - 1).step_by(97).chain([good.len() - 2]) {
        std::fs::write(&path, &good[..cut]).unwrap();
        let report = world.verify().await;
        assert!(!report.is_whole(), "cut at {cut}");
        assert_eq!(report.findings[0].place, Where::Segment(1));
    }
    assert_eq!(world.sealer.repair().await.unwrap().len(), 1);
    assert_eq!(std::fs::read(&path).unwrap(), good);
}

#[tokio::test]
async fn a_segment_cut_short_by_a_kill_is_finished_at_the_next_start() {
    let world = World::new().await;
    world.act(5).await;
    // Killed after the plan: with no file, with a part of one beside, and with a part of one in place.
    let path = segment::path(&world.audit_dir(), world.chain(), 1);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let plan = "INSERT OR REPLACE INTO audit_segments (chain, number, first, last, written) VALUES ('u1', 1, 1, 4, 0)";
    let mut world = world;
    for part in [None, Some(path.with_extension("seg.writing")), Some(path.clone())] {
        world.tamper(plan).await;
        if path.exists() {
            std::fs::remove_file(&path).unwrap();
        }
        if let Some(part) = part {
            std::fs::write(part, "{\"chain\":\"u1\",\"seg").unwrap();
        }
        let (again, repairs) = world.reopen().await;
        assert_eq!(repairs, [Repair { what: "finished segment 1 of chain u1".into() }]);
        world = again;
        assert!(world.verify().await.is_whole());
    }
    world.sealer.checkpoint().await.unwrap();
    let report = world.verify().await;
    assert!(report.is_whole(), "{:#?}", report.findings);
    assert_eq!(report.sealed_entries, 4);
}

#[tokio::test]
async fn a_segment_is_not_written_from_rows_that_do_not_hold() {
    let mut world = World::new().await;
    world.act(5).await;
    world.tamper("UPDATE audit_entries SET detail = 'other' WHERE chain = 'u1' AND seq = 2").await;
    let refused = world.sealer.close_segments().await.unwrap_err();
    assert!(matches!(refused, AuditError::NotGenuine { first: 1, last: 4, .. }), "{refused}");
}

#[tokio::test]
async fn a_checkpoint_cut_short_by_a_kill_is_made_anew() {
    let mut world = World::sealed(3).await;
    let path = checkpoint::path(&world.audit_dir());
    let one = std::fs::read(&path).unwrap();
    world.act(1).await;
    world.sealer.checkpoint().await.unwrap().unwrap();
    let two = std::fs::read(&path).unwrap();
    for cut in (one.len() + 1..two.len()).step_by(61).chain([two.len() - 1]) {
        // The database had not heard of it.
        world.tamper("DELETE FROM audit_checkpoints WHERE number = 2").await;
        std::fs::write(&path, &two[..cut]).unwrap();
        assert_eq!(world.verify().await.findings[0].fault, Fault::Torn);
        let (again, repairs) = world.reopen().await;
        world = again;
        assert_eq!(repairs.len(), 1, "cut at {cut}");
        assert_eq!(world.sealer.checkpoint().await.unwrap().unwrap().statement.number, 2);
        let report = world.verify().await;
        assert!(report.is_whole(), "{:#?}", report.findings);
    }
    // Killed between the file and the database: the checkpoint stands.
    world.tamper("DELETE FROM audit_checkpoints WHERE number = 2").await;
    let (mut world, _) = world.reopen().await;
    world.act(1).await;
    assert_eq!(world.sealer.checkpoint().await.unwrap().unwrap().statement.number, 3);
    assert!(world.verify().await.is_whole());
}

#[tokio::test]
async fn changed_dropped_and_forged_checkpoints_are_found() {
    let mut world = World::sealed(3).await;
    for _ in 0..2 {
        world.act(1).await;
        world.sealer.checkpoint().await.unwrap().unwrap();
    }
    let path = checkpoint::path(&world.audit_dir());
    let good = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let at = |change: &dyn Fn(&mut Checkpoint)| {
        let mut second: Checkpoint = serde_json::from_str(lines[1]).unwrap();
        change(&mut second);
        format!("{}\n{}\n{}\n", lines[0], serde_json::to_string(&second).unwrap(), lines[2])
    };
    let changes = [
        (at(&|c| c.statement.at += 1), Fault::Unsigned),
        (at(&|c| c.heads[0].entries += 1), Fault::Unsigned),
        (at(&|c| c.heads.clear()), Fault::Unsigned),
        (at(&|c| c.signature.0[5] ^= 1), Fault::Unsigned),
        (format!("{}\n{}\n", lines[0], lines[2]), Fault::Unsigned),
        (format!("{}\n{}\n", lines[0], lines[1]), Fault::Truncated),
        (format!("{}\nnonsense\n{}\n", lines[0], lines[2]), Fault::Edited),
    ];
    for (changed, fault) in changes {
        std::fs::write(&path, &changed).unwrap();
        let report = world.verify().await;
        assert_eq!(report.findings[0].fault, fault, "{:#?}", report.findings);
        assert!(matches!(report.findings[0].place, Where::Checkpoint(2 | 3)));
    }
    std::fs::write(&path, &good).unwrap();
    std::fs::write(world.audit_dir().join("keys.jsonl"), "{}\n").unwrap();
    assert_eq!(world.verify().await.findings[0].place, Where::Keys);
}

/// Someone with the whole machine, signing key included, who makes all of it anew.
async fn rewrite_everything(world: &World) {
    let mut raw = world.raw().await;
    for table in ["segments", "checkpoints", "chains"] {
        let sql = format!("DELETE FROM audit_{table}");
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut raw).await.unwrap();
    }
    for chain in [world.chain(), Owner::Platform] {
        let records = rows::read(&mut raw, chain, 1, 1000).await.unwrap();
        sqlx::query("DELETE FROM audit_entries WHERE chain = ?")
            .bind(chain.to_string())
            .execute(&mut raw)
            .await
            .unwrap();
        for record in records.into_iter().filter(|r| chain == Owner::Platform || r.seq != 6) {
            let (names, detail) = (record.names.unwrap(), record.detail.unwrap());
            let entry =
                Entry::new(&Actor::person(names.actor), "test.do", names.subject).with(detail.text);
            world.forge(record.at, entry.in_chain(chain)).await;
        }
        std::fs::remove_dir_all(world.audit_dir().join(chain.to_string())).unwrap();
    }
    std::fs::remove_file(checkpoint::path(&world.audit_dir())).unwrap();
}

#[tokio::test]
async fn a_thief_of_the_signing_key_is_caught_by_the_witness_alone() {
    let mut world = World::sealed(5).await;
    world.act(3).await;
    world.sealer.checkpoint().await.unwrap();
    let witness = FileWitness::new(&world.witness_path());
    assert_eq!(world.sealer.deliver(&witness).await.unwrap(), 2);
    assert_eq!(world.sealer.deliver(&witness).await.unwrap(), 0);
    let report = world.verify_with_witness().await;
    assert!(report.is_whole() && report.witnessed == 2, "{report:#?}");

    rewrite_everything(&world).await;
    let (mut world, _) = world.reopen().await;
    world.sealer.close_segments().await.unwrap();
    world.sealer.checkpoint().await.unwrap().unwrap();
    assert!(world.verify().await.is_whole(), "nothing on the machine can tell");
    let report = world.verify_with_witness().await;
    assert_first(&report, Fault::Resigned, "platform", 1);

    // Fewer checkpoints than the witness has.
    assert!(report.findings.iter().all(|finding| finding.chain.is_some()));
}

#[tokio::test]
async fn checkpoints_that_only_the_witness_has_are_missed() {
    let mut world = World::sealed(5).await;
    world.act(3).await;
    world.sealer.checkpoint().await.unwrap();
    world.sealer.deliver(&FileWitness::new(&world.witness_path())).await.unwrap();
    let path = checkpoint::path(&world.audit_dir());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{}\n", text.lines().next().unwrap())).unwrap();
    world
        .tamper(
            "DELETE FROM audit_checkpoints WHERE number = 2; \
             DELETE FROM audit_entries WHERE chain = 'u1' AND seq > 6",
        )
        .await;
    assert!(world.verify().await.is_whole(), "nothing on the machine can tell");
    let report = world.verify_with_witness().await;
    assert_eq!(report.findings[0].fault, Fault::Truncated);
    let named = report.findings.iter().find(|f| f.chain == Some(world.chain())).unwrap();
    assert_eq!((named.fault, named.entry), (Fault::Truncated, Some(7)));
}

#[tokio::test]
async fn a_clock_that_differs_from_the_witness_is_found() {
    let mut world = World::sealed(2).await;
    let checkpoint = world.sealer.checkpoint().await.unwrap();
    assert!(checkpoint.is_none());
    world.act(1).await;
    let checkpoint = world.sealer.checkpoint().await.unwrap().unwrap();
    let sent_at = checkpoint.statement.at;
    for (received_at, fine) in [(sent_at + 1000, true), (sent_at + 3_600_000, false)] {
        let delivery = Delivery { sent_at, checkpoint: checkpoint.clone() };
        let line = serde_json::to_string(&Witnessed { received_at, delivery }).unwrap();
        std::fs::write(world.witness_path(), format!("{line}\n")).unwrap();
        let report = world.verify_with_witness().await;
        assert_eq!(report.is_whole(), fine);
        if !fine {
            let found = (report.findings[0].fault, report.findings[0].place);
            assert_eq!(found, (Fault::ClockBack, Where::Checkpoint(2)));
        }
    }
}

#[tokio::test]
async fn a_new_signing_key_follows_the_old_one() {
    let mut world = World::sealed(3).await;
    world.sealer.rotate_key(&Actor::Operator).await.unwrap();
    world.act(1).await;
    let checkpoint = world.sealer.checkpoint().await.unwrap().unwrap();
    let (world, _) = world.reopen().await;
    let report = world.verify().await;
    assert!(report.is_whole(), "{:#?}", report.findings);
    let keys = cloister_vault::KeyLog::read(&world.audit_dir()).unwrap();
    assert_eq!(keys.find(&checkpoint.statement.key).unwrap().number, 2);
}

fn is_anywhere(dir: &Path, needle: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(is_anywhere(&path, needle));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            if bytes.windows(needle.len()).any(|window| window == needle.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

#[tokio::test]
async fn a_person_is_erased_and_the_chain_stays_whole() {
    let mut world = World::sealed(10).await;
    assert!(!is_anywhere(world.dir.path(), CANARY).is_empty());
    let erasure = Erasure { user: world.ada, names: vec!["ada".into()], why: "asked for".into() };
    let erased = world.sealer.erase(&Actor::person("test"), &erasure).await.unwrap();
    assert_eq!(erased, 10 + 1, "their own entries, and the one that added them");
    assert_eq!(is_anywhere(world.dir.path(), CANARY), Vec::<PathBuf>::new());
    assert_eq!(is_anywhere(world.dir.path(), "thing 3"), Vec::<PathBuf>::new());
    let report = world.verify().await;
    assert!(report.is_whole(), "{:#?}", report.findings);
    assert_eq!(report.notes, [""; 0]);
    let own = world.store.audit().audit_of(world.chain(), None, 100).await.unwrap();
    assert_eq!((own[0].action.as_str(), own[0].subject.as_str()), ("audit.erase", "1-10"));
    assert!(own[1].redacted && own[1].actor.is_empty() && own[1].detail.is_empty());

    // Going on afterwards, and sealing what says so.
    world.act(6).await;
    world.sealer.close_segments().await.unwrap();
    world.sealer.checkpoint().await.unwrap();
    assert!(world.verify().await.is_whole());
}

#[tokio::test]
async fn a_redaction_cut_short_is_finished_at_the_next_start() {
    let mut world = World::sealed(8).await;
    let redaction = Redaction {
        chain: world.chain(),
        entries: "2-3,7".parse().unwrap(),
        extent: Extent::Detail,
        why: "policy".into(),
    };
    let path = segment::path(&world.audit_dir(), world.chain(), 1);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(world.sealer.redact(&Actor::person("test"), &redaction).await.unwrap(), 3);
    let after = std::fs::read(&path).unwrap();
    assert_ne!(before, after);
    // Killed after the database, before the segment.
    std::fs::write(&path, &before).unwrap();
    world
        .tamper(
            "INSERT INTO audit_redactions (chain, extent, ranges) VALUES ('u1', 'detail', '2-3,7')",
        )
        .await;
    let report = world.verify().await;
    assert!(report.is_whole() && report.notes.len() == 1, "{report:#?}");
    let (mut world, _) = world.reopen().await;
    assert_eq!(std::fs::read(&path).unwrap(), after);
    assert_eq!(world.verify().await.notes, [""; 0]);
    let names = world.store.audit().audit_of(world.chain(), Some(4), 2).await.unwrap();
    assert_eq!((names[0].actor.as_str(), names[0].detail.as_str()), ("u1", ""));
    let nothing = Redaction { entries: "900".parse().unwrap(), ..redaction };
    assert!(matches!(
        world.sealer.redact(&Actor::person("test"), &nothing).await,
        Err(AuditError::NoSuchEntries { .. })
    ));
}

#[tokio::test]
async fn an_export_proves_itself_and_says_nothing_of_others() {
    let mut world = World::sealed(10).await;
    let bob = test_world::add(&world.store, "bob").await.id;
    world
        .store
        .audit()
        .record(Entry::new(&Actor::person("u2"), "test.do", "other").of(bob))
        .await
        .unwrap();
    world.act(1).await;
    world.sealer.checkpoint().await.unwrap();
    let mut out = Vec::new();
    let entries = world
        .store
        .audit()
        .export_audit(&world.audit_dir(), world.chain(), &mut out)
        .await
        .unwrap();
    assert_eq!(entries, 11);
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains("u2") && !text.contains("platform"), "{text}");
    let report = verify_export(text.as_bytes(), 60_000).unwrap();
    assert!(report.is_whole(), "{:#?}", report.findings);
    assert_eq!((report.entries, report.checkpoints), (11, 2));

    let edited = text.replacen("thing 4", "thing 5", 1);
    let report = verify_export(edited.as_bytes(), 60_000).unwrap();
    assert_first(&report, Fault::Edited, "u1", 5);
    let cut: String =
        text.lines().take(text.lines().count() - 3).map(|l| format!("{l}\n")).collect();
    assert_first(&verify_export(cut.as_bytes(), 60_000).unwrap(), Fault::Truncated, "u1", 9);
}

#[tokio::test]
async fn a_copy_of_the_files_is_verified_without_the_database() {
    let world = World::sealed(10).await;
    let what = Verification::of(&world.audit_dir());
    let report = verify_files(&what).unwrap();
    assert!(report.is_whole(), "{:#?}", report.findings);
    assert_eq!(report.sealed_entries, 16);
    let path = segment::path(&world.audit_dir(), world.chain(), 2);
    std::fs::remove_file(path).unwrap();
    assert_first(&verify_files(&what).unwrap(), Fault::Truncated, "u1", 5);
}

#[tokio::test]
async fn a_rewritten_tail_that_no_checkpoint_has_differs_from_its_segment() {
    let mut world = World::new().await;
    world.act(8).await;
    world.sealer.close_segments().await.unwrap();
    let mut raw = world.raw().await;
    let records = rows::read(&mut raw, world.chain(), 6, 8).await.unwrap();
    sqlx::query("DELETE FROM audit_entries WHERE chain = 'u1' AND seq >= 6")
        .execute(&mut raw)
        .await
        .unwrap();
    for record in records {
        let entry = Entry::new(&Actor::person("u1"), "test.forged", record.seq).of(world.ada);
        world.forge(record.at, entry).await;
    }
    raw.close().await.unwrap();
    assert_first(&world.verify().await, Fault::Rewritten, "u1", 6);
}

/// Processor time of this process so far, which other work on the machine does not change.
fn processor_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    ticks * 10
}

/// Prints what an entry costs, and how fast a million are verified: `make audit-bench`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn a_million_entries() {
    const ENTRIES: u64 = 1_000_000;
    let (dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await.id;
    let detail = "GET https://api.example.org/v1/things?page=17 (allowed by rule api.example.org)";
    let began = Instant::now();
    for thousand in 0..ENTRIES / 1000 {
        let mut tx = store.begin().await.unwrap();
        for i in 0..1000 {
            let entry =
                Entry::of_cell((WorkspaceId::from_number(1), None), "egress.allow", i).with(detail);
            record(&mut tx, (thousand * 1000 + i) as i64, entry).await.unwrap();
        }
        tx.commit().await.unwrap();
    }
    let each = began.elapsed() / ENTRIES as u32;
    let spent = processor_ms();
    println!("append inside a transaction: {each:?} per entry, {spent} ms of processor for all");
    let began = Instant::now();
    for i in 0..1000 {
        store
            .audit()
            .record(Entry::new(&Actor::person("u1"), "test.do", i).with(detail).of(ada))
            .await
            .unwrap();
    }
    println!("append with a transaction of its own: {:?} per entry", began.elapsed() / 1000);

    let audit = dir.path().join("audit");
    let options = SealOptions { segment_entries: 10_000, ..SealOptions::default() };
    let (mut sealer, _) = Sealer::open(store.clone(), &audit, options).await.unwrap();
    let began = Instant::now();
    sealer.close_segments().await.unwrap();
    println!("segments: {:.0} entries/s", ENTRIES as f64 / began.elapsed().as_secs_f64());
    sealer.checkpoint().await.unwrap();
    let what = Verification { clock_tolerance_ms: i64::MAX / 4, ..Verification::of(&audit) };
    let spent = processor_ms();
    let began = Instant::now();
    let report = store.audit().verify_audit(&what).await.unwrap();
    let took = began.elapsed();
    assert!(report.is_whole(), "{:#?}", report.findings);
    let rate = report.entries as f64 / took.as_secs_f64();
    let spent = processor_ms() - spent;
    println!(
        "verify, database and segments: {took:?}, {rate:.0} entries/s, {spent} ms of processor"
    );
    let spent = processor_ms();
    let began = Instant::now();
    let report = verify_files(&what).unwrap();
    let rate = report.sealed_entries as f64 / began.elapsed().as_secs_f64();
    let spent = processor_ms() - spent;
    println!(
        "verify, segments alone: {:?}, {rate:.0} entries/s, {spent} ms of processor",
        began.elapsed()
    );
}
