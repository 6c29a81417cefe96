//! The short form of chaos, and the stack it stands on.

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cloister_testkit::chaos::{self, Options};
    use cloister_testkit::{ModelServer, Stack};

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_is_lost_doubled_or_forgotten_when_everything_is_killed() {
        let options = Options {
            seed: 7,
            kills: 12,
            users: 4,
            chats: 2,
            time: Duration::from_secs(60),
            drain: Duration::from_secs(60),
        };
        let outcome = Box::pin(chaos::run(options)).await.unwrap();
        let problems = outcome.verdict.problems.join("\n");
        assert!(outcome.holds(), "{outcome}\n{problems}\nkept in {:?}", outcome.kept);
        assert!(outcome.verdict.messages > 0 && outcome.verdict.tasks > 0, "{outcome}");
        assert!(outcome.kills.values().sum::<usize>() >= 12, "{outcome}");
    }

    #[tokio::test]
    async fn a_message_is_answered_through_a_kill_and_said_once() {
        let model = ModelServer::start().await.unwrap();
        let mut stack = Stack::start().await.unwrap();
        stack.use_model(&model).await.unwrap();
        stack.cli_ok(&["user", "add", "alice"]).await.unwrap();
        let session = stack.session("alice").await.unwrap();
        let mut alice = stack.client(&session, "C1".parse().unwrap());
        let before = alice.ask("good morning").await.unwrap();
        assert_eq!(before.text, "echo: good morning");
        alice.submit("m-2".parse().unwrap(), "and good night").await;
        stack.kill().await.unwrap();
        stack.restart().await.unwrap();
        let within = Duration::from_secs(30);
        let after = alice.ask_as("m-2".parse().unwrap(), "and good night", within).await.unwrap();
        assert_eq!(after.text, "echo: and good night");
        assert_eq!(alice.faults(), [""; 0]);
        assert_eq!(model.violations(), [""; 0]);
        stack.stop().await.unwrap();
    }
}
