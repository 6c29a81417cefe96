use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use proptest::prelude::*;

use super::*;
use crate::engine::{Outcome, Verdict};
use crate::provenance::Flow;
use bytes::Bytes;

use crate::egress::{Destination, Scheme};
use crate::outgoing::{Content, Draft, Outgoing};
use crate::provenance::Labels;
use cloister_protocol::link::Lasting;

fn effect(action: Action) -> Effect {
    let asker = Asker {
        user: UserId::from_number(1),
        workspace: WorkspaceId::from_number(1),
        chat: ChatId::from_number(1),
        task: Some(TaskId::from_number(1)),
        why: String::new(),
        origin: Labels::default(),
    };
    Effect { action, surroundings: Surroundings::default(), asker }
}

pub(super) fn command(text: &str) -> Effect {
    effect(Action::Command { text: text.to_owned() })
}

pub(super) fn request(method: &str, host: &str, path: &str, body: &str) -> Effect {
    let destination = Destination {
        scheme: Scheme::Https,
        host: host.parse().unwrap(),
        port: 443,
        path: path.to_owned(),
    };
    let body = Bytes::copy_from_slice(body.as_bytes());
    sent(method, &destination, &[], &body)
}

pub(super) fn sent(
    method: &str,
    to: &Destination,
    headers: &[(String, String)],
    body: &Bytes,
) -> Effect {
    let draft = Draft { method, to, query: None, headers, body, secrets: &[] };
    effect(Action::Request(Box::new(Outgoing::rebuild(&draft, Content::Own).unwrap())))
}

fn mail(to: &[&str], attachments: usize) -> Effect {
    let attachment = AttachedFile { name: "a".to_owned(), bytes: 1, sha256: [0; 32] };
    effect(Action::Mail(Mail {
        mailbox: "me".to_owned(),
        to: to.iter().map(|to| (*to).to_owned()).collect(),
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: String::new(),
        body: String::new(),
        attachments: vec![attachment; attachments],
    }))
}

fn verdict(outcome: Outcome) -> Verdict {
    Verdict { outcome, policies: Vec::new() }
}

fn asks(class: Class, people: u8) -> Verdict {
    verdict(Outcome::Ask { class, people, reason: "because".to_owned() })
}

fn untrusted() -> Flow {
    Flow::Ask { sources: vec![Mark::web("https://evil.test")], reason: "not named".to_owned() }
}

fn grant(id: u32, reach: Reach) -> Grant {
    let (user, workspace) = (UserId::from_number(1), WorkspaceId::from_number(1));
    let chat = ChatId::from_number(1);
    Grant { id: GrantId(id), user, workspace, chat, reach, ended: false }
}

fn once(effect: &Effect) -> Reach {
    Reach::Once { task: effect.asker.task, effect: effect.digest() }
}

fn always(effect: &Effect) -> Reach {
    Reach::Always { template: Template::of(effect).unwrap() }
}

fn runs(decision: &Decision) -> bool {
    matches!(decision, Decision::Run(_))
}

#[test]
fn safe_runs_denied_does_not_and_the_rest_is_asked() {
    let effect = command("ls");
    let by_grant = [grant(1, once(&effect)), grant(2, always(&effect))];
    assert!(runs(&decide(&effect, &[], &verdict(Outcome::Allow), &Flow::Run)));
    let denied = verdict(Outcome::Deny { reason: "no".to_owned() });
    let reason = "no".to_owned();
    assert_eq!(decide(&effect, &by_grant, &denied, &Flow::Run), Decision::Deny { reason });
    for class in [Class::Middle, Class::Destructive, Class::Outward] {
        let Decision::Ask(question) = decide(&effect, &[], &asks(class, 1), &Flow::Run) else {
            panic!("{class} is not asked");
        };
        assert_eq!((question.class, question.people), (class, 1));
        assert!(runs(&decide(&effect, &by_grant, &asks(class, 1), &Flow::Run)));
    }
}

#[test]
fn a_pass_is_for_what_passed() {
    let effect = command("ls");
    let Decision::Run(pass) = decide(&effect, &[], &verdict(Outcome::Allow), &Flow::Run) else {
        panic!("it does not run");
    };
    assert_eq!(pass.clear(command("ls -l")), Err(ChangedAfterGate));
    let grants = [grant(7, once(&effect))];
    let Decision::Run(pass) = decide(&effect, &grants, &asks(Class::Outward, 1), &Flow::Run) else {
        panic!("it does not run");
    };
    let cleared = pass.clear(effect.clone()).unwrap();
    assert_eq!(cleared.by(), PassedBy::Grant { id: GrantId(7), once: true });
    assert_eq!(cleared.into_effect(), effect);
}

/// The same words do something else where the files are others.
#[test]
fn a_grant_helps_in_no_other_chat() {
    let here = command("rm old.txt");
    let mut elsewhere = here.clone();
    elsewhere.asker.chat = ChatId::from_number(2);
    for reach in [always(&here), once(&here)] {
        let grant = grant(1, reach);
        assert!(grant.covers(&here), "{grant:?}");
        assert!(!grant.covers(&elsewhere), "{grant:?}");
    }
}

#[test]
fn standing_grants_do_not_speak_for_untrusted_content() {
    let effect = request("POST", "hooks.test", "/x", "hello");
    let standing = [grant(1, always(&effect))];
    let verdict = asks(Class::Outward, 1);
    assert!(runs(&decide(&effect, &standing, &verdict, &Flow::Run)));
    let Decision::Ask(question) = decide(&effect, &standing, &verdict, &untrusted()) else {
        panic!("it runs");
    };
    assert_eq!(question.sources, vec![Mark::web("https://evil.test")]);
    assert!(!question.offered.contains(&Answer::AllowAlways));
    // What a person allowed with that in view is allowed.
    assert!(runs(&decide(&effect, &[grant(2, once(&effect))], &verdict, &untrusted())));
    // And what otherwise would not be asked is asked.
    let allowed = super::tests::verdict(Outcome::Allow);
    assert!(!runs(&decide(&effect, &standing, &allowed, &untrusted())));
}

#[test]
fn a_template_fixes_what_is_dangerous() {
    let rows: Vec<(Effect, Vec<Effect>, Vec<Effect>)> = vec![
        (
            request("POST", "hooks.test", "/x", "one"),
            vec![request("POST", "hooks.test", "/x", "two")],
            vec![
                request("PUT", "hooks.test", "/x", "one"),
                request("POST", "hooks.test", "/x/", "one"),
                request("POST", "hooks.test", "/x/../y", "one"),
                request("POST", "hooks.test.evil.test", "/x", "one"),
                request("POST", "www.hooks.test", "/x", "one"),
            ],
        ),
        (
            mail(&["a@x.test", "b@x.test"], 0),
            vec![mail(&["b@x.test", "a@x.test"], 0)],
            vec![
                mail(&["a@x.test"], 0),
                mail(&["a@x.test", "b@x.test", "c@x.test"], 0),
                mail(&["a@x.test,b@x.test"], 0),
                mail(&["a@x.test", "b@x.test"], 1),
                mail(&["A@x.test", "b@x.test"], 0),
            ],
        ),
        (
            command("pip install requests"),
            vec![command("pip install requests")],
            vec![
                command("pip install requests; rm x"),
                command("pip install  requests"),
                command("pip install requests evil"),
                command(" pip install requests"),
            ],
        ),
        (
            effect(Action::Tool { name: "t".to_owned(), arguments: "{}".to_owned() }),
            vec![],
            vec![effect(Action::Tool { name: "t".to_owned(), arguments: "{ }".to_owned() })],
        ),
        (
            effect(Action::Keep {
                what: Lasting::Memory,
                path: "MEMORY.md".to_owned(),
                diff: "a".to_owned(),
            }),
            vec![effect(Action::Keep {
                what: Lasting::Memory,
                path: "MEMORY.md".to_owned(),
                diff: "b".to_owned(),
            })],
            vec![
                effect(Action::Keep {
                    what: Lasting::Skill,
                    path: "MEMORY.md".to_owned(),
                    diff: "a".to_owned(),
                }),
                effect(Action::Keep {
                    what: Lasting::Memory,
                    path: "SOUL.md".to_owned(),
                    diff: "a".to_owned(),
                }),
            ],
        ),
    ];
    for (from, covered, others) in rows {
        let template = Template::of(&from).unwrap();
        assert!(template.covers(&from));
        covered
            .iter()
            .for_each(|effect| assert!(template.covers(effect), "{template:?} {effect:?}"));
        others
            .iter()
            .for_each(|effect| assert!(!template.covers(effect), "{template:?} {effect:?}"));
    }
    assert_eq!(Template::of(&mail(&["a@x.test"], 1)), None);
    let spend =
        Action::Spend { payee: "x".to_owned(), amount: "1".to_owned(), what: String::new() };
    assert_eq!(Template::of(&effect(spend)), None);
}

#[test]
fn a_command_template_is_for_its_folder_and_variables() {
    let template = Template::of(&command("make")).unwrap();
    let mut elsewhere = command("make");
    elsewhere.surroundings.folder = "/chat/evil".to_owned();
    assert!(!template.covers(&elsewhere));
    let mut with = command("make");
    with.surroundings.environment.insert("PATH".to_owned(), ".".to_owned());
    assert!(!template.covers(&with));
}

#[test]
fn one_denial_denies_and_two_people_must_be_two() {
    let (anna, ben) = (UserId::from_number(1), UserId::from_number(2));
    assert_eq!(tally(1, &[(anna, Answer::Allow)]), Tally::Allowed(Answer::Allow));
    assert_eq!(tally(2, &[(anna, Answer::AllowForTask)]), Tally::Waiting { people: 1 });
    let twice = [(anna, Answer::AllowForTask), (anna, Answer::Allow)];
    assert_eq!(tally(2, &twice), Tally::Waiting { people: 1 });
    let both = [(anna, Answer::AllowForTask), (ben, Answer::Allow)];
    assert_eq!(tally(2, &both), Tally::Allowed(Answer::Allow), "the narrowest counts");
    assert_eq!(tally(2, &[(anna, Answer::DenyAndStop)]), Tally::Denied { stop: true });
    assert_eq!(
        tally(2, &[(anna, Answer::Allow), (ben, Answer::Deny)]),
        Tally::Denied { stop: false }
    );
}

#[test]
fn the_expected_answer_comes_first() {
    let effect = command("pip install x");
    assert_eq!(offered(&effect, Class::Middle, 1, false).first(), Some(&Answer::AllowAlways));
    assert_eq!(offered(&effect, Class::Outward, 1, false).first(), Some(&Answer::Allow));
    assert!(!offered(&effect, Class::Middle, 2, false).contains(&Answer::AllowAlways));
    let keep = |diff: &str| Action::Keep {
        what: Lasting::Skill,
        path: "skills/a".to_owned(),
        diff: diff.to_owned(),
    };
    // What "always" would widen is never what a plain yes means, nor offered for somebody else's words.
    let changed = self::effect(keep("a"));
    let own = offered(&changed, Class::Middle, 1, false);
    assert!(own.contains(&Answer::Allow) && own.contains(&Answer::AllowAlways), "{own:?}");
    assert!(!offered(&changed, Class::Middle, 1, true).contains(&Answer::AllowAlways));
    assert_eq!(Answer::Allow.plainly(&own), Answer::Allow);
}

/// G1: the yes to a middle question stands for the same action to the byte, whoever wrote what is in the
/// task; for no other, of no other class, and not where two people must agree.
#[test]
fn a_middle_action_is_asked_once_and_then_remembered() {
    let install = command("pip install requests");
    let Decision::Ask(question) = decide(&install, &[], &asks(Class::Middle, 1), &Flow::Run) else {
        panic!("it is not asked");
    };
    assert!(question.rendered.text.contains("you are not asked again to run pip install requests"));
    assert!(!question.offered.contains(&Answer::Allow), "{:?}", question.offered);
    assert_eq!(Answer::Allow.plainly(&question.offered), Answer::AllowAlways);
    assert_eq!(Answer::Deny.plainly(&question.offered), Answer::Deny);

    let grants = [grant(1, always(&install))];
    let mut later = install.clone();
    later.asker.task = Some(TaskId::from_number(9));
    for flow in [Flow::Run, untrusted()] {
        assert!(runs(&decide(&later, &grants, &asks(Class::Middle, 1), &flow)), "{flow:?}");
        let other = command("pip install requests evil");
        assert!(!runs(&decide(&other, &grants, &asks(Class::Middle, 1), &flow)));
    }
    for (class, people) in [(Class::Destructive, 1), (Class::Outward, 1), (Class::Middle, 2)] {
        assert!(!runs(&decide(&later, &grants, &asks(class, people), &untrusted())), "{class}");
    }
    // What is free in a template is not remembered from it for somebody else's words.
    let post = request("POST", "hooks.test", "/x", "one");
    let standing = [grant(2, always(&post))];
    assert!(!runs(&decide(&post, &standing, &asks(Class::Middle, 1), &untrusted())));
}

#[test]
fn two_peoples_rule_is_about_each_time() {
    let effect = command("deploy");
    let standing = [grant(1, always(&effect))];
    assert!(!runs(&decide(&effect, &standing, &asks(Class::Outward, 2), &Flow::Run)));
}

/// What "always" leaves free is the body, and nothing beside it.
#[test]
fn a_template_fixes_the_kind_of_body_and_every_header() {
    let Action::Request(plain) = request("POST", "hooks.test", "/x", "hello").action else {
        unreachable!("a request");
    };
    let send = |headers: &[(&str, &str)], body: &str| {
        let headers: Vec<(String, String)> =
            headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        sent("POST", plain.to(), &headers, &Bytes::copy_from_slice(body.as_bytes()))
    };
    let form = |boundary: &str, word: &str| {
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{word}\r\n--{boundary}--\r\n"
        );
        send(&[("content-type", &format!("multipart/form-data; boundary={boundary}"))], &body)
    };
    let template = Template::of(&form("drawn-by-lot", "one")).unwrap();
    assert!(template.covers(&form("seventy-chosen-characters", "two")));
    assert_eq!(
        form("drawn-by-lot", "one").digest(),
        form("seventy-chosen-characters", "one").digest()
    );
    assert!(!template.covers(&send(&[("content-type", "text/plain")], "one")));
    assert!(
        !template
            .covers(&send(&[("content-type", "multipart/form-data; boundary=c2VjcmV0")], "one"))
    );
    let text = Template::of(&send(&[("content-type", "text/plain")], "one")).unwrap();
    assert!(text.covers(&send(&[("content-type", "text/plain")], "two")));
    for more in [("x-note", "secret"), ("content-type", "text/plain; secret"), ("cookie", "a")] {
        assert!(!text.covers(&send(&[("content-type", "text/plain"), more], "one")), "{more:?}");
    }
}

fn effects() -> impl Strategy<Value = Effect> {
    let action = prop_oneof![
        "[ab ]{0,4}".prop_map(|text| Action::Command { text }),
        ("[ab]{1,2}", "[ab]{0,2}").prop_map(|(place, text)| Action::Post { place, text }),
        ("[ab]{1,2}", "[ab]{0,2}").prop_map(|(name, arguments)| Action::Tool { name, arguments }),
    ];
    (action, 1_u32..4, 1_u32..3, 1_u32..3, proptest::option::of(1_u32..3), "(/a)?").prop_map(
        |(action, user, workspace, chat, task, folder)| {
            let mut effect = effect(action);
            effect.asker.user = UserId::from_number(user);
            effect.asker.workspace = WorkspaceId::from_number(workspace);
            effect.asker.task = task.map(TaskId::from_number);
            effect.asker.chat = ChatId::from_number(chat);
            effect.surroundings.folder = folder;
            effect
        },
    )
}

fn grants() -> impl Strategy<Value = Grant> {
    (effects(), 0_u8..3, any::<bool>()).prop_map(|(effect, how, ended)| {
        let reach = match (how, effect.asker.task) {
            (0, Some(task)) => Reach::Task { task, effect: effect.digest() },
            (1, _) => always(&effect),
            _ => once(&effect),
        };
        let Asker { user, workspace, chat, .. } = effect.asker;
        Grant { id: GrantId(1), user, workspace, chat, reach, ended }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_grant_for_one_never_widens_anothers(effect in effects(), mine in proptest::collection::vec(grants(), 0..4), theirs in grants()) {
        let other = UserId::from_number(effect.asker.user.number() + 1);
        let theirs = Grant { user: other, ..theirs };
        let verdict = asks(Class::Outward, 1);
        let before = runs(&decide(&effect, &mine, &verdict, &Flow::Run));
        let with = [mine, vec![theirs]].concat();
        prop_assert_eq!(runs(&decide(&effect, &with, &verdict, &Flow::Run)), before);
    }

    #[test]
    fn a_changed_byte_is_never_covered(effect in effects(), at in 0_usize..6, with in "[a-c]") {
        let for_task = effect.asker.task.map(|task| Reach::Task { task, effect: effect.digest() });
        let mut changed = effect.clone();
        let text = match &mut changed.action {
            Action::Command { text } | Action::Post { text, .. } => text,
            Action::Tool { arguments, .. } => arguments,
            _ => unreachable!("not among the effects"),
        };
        text.insert_str(at.min(text.len()), &with);
        for reach in [Some(once(&effect)), for_task].into_iter().flatten() {
            let Asker { user, workspace, chat, .. } = effect.asker;
            let grant = Grant { user, workspace, chat, ..grant(1, reach) };
            prop_assert!(grant.covers(&effect));
            prop_assert!(!grant.covers(&changed));
        }
    }

    #[test]
    fn a_grant_more_never_asks_more_and_provenance_never_asks_less(
        effect in effects(), some in proptest::collection::vec(grants(), 0..4), more in grants(), people in 1_u8..3,
    ) {
        let verdict = asks(Class::Outward, people);
        let before = runs(&decide(&effect, &some, &verdict, &Flow::Run));
        let tainted = runs(&decide(&effect, &some, &verdict, &untrusted()));
        prop_assert!(before || !tainted);
        let with = [some, vec![more]].concat();
        prop_assert!(!before || runs(&decide(&effect, &with, &verdict, &Flow::Run)));
    }

    #[test]
    fn a_revoked_grant_covers_nothing(effect in effects(), grant in grants()) {
        let revoked = Grant { ended: true, ..grant };
        prop_assert!(!revoked.covers(&effect));
    }
}
