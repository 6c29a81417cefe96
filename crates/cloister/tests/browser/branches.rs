//! A chat that begins with the conversation of another up to a message.

use cloister_testkit::{ModelServer, Reply};

use crate::world::{World, answered, connected, say};

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_goes_on_from_where_it_was_made() {
    let model = ModelServer::builder().rule(|received| {
        let asked = received.last_user_text();
        let said = received.messages().iter().filter(|message| message["role"] == "user");
        let said: Vec<String> = said.map(|message| message["content"].to_string()).collect();
        asked
            .contains("what did I say")
            .then(|| Reply::text(format!("you said: {}", said.join(" | "))))
    });
    let world = World::with(model).await;
    let page = world.login().await;
    for (said, echo) in
        [("apples", "echo: apples"), ("pears", "echo: pears"), ("plums", "echo: plums")]
    {
        say(&page, said).await;
        answered(&page, echo).await;
    }
    // From the second answer.
    page.wait_for("document.querySelectorAll('.agent .acts').length === 3", "the buttons")
        .await
        .unwrap();
    page.eval("[...document.querySelectorAll('.agent .acts')][1].querySelector('[aria-label=\"Branch from this answer\"]').click(); 0").await.unwrap();
    page.wait_for("location.pathname === '/chats/C2'", "the branch").await.unwrap();
    connected(&page).await;
    let shown = page.text("#log").await.unwrap();
    assert!(shown.contains("apples") && shown.contains("echo: pears"), "{shown}");
    assert!(!shown.contains("plums"), "{shown}");
    assert!(shown.contains("copy of C1"), "{shown}");
    assert!(page.text(".bar h1").await.unwrap().contains("branch"));
    say(&page, "what did I say").await;
    answered(&page, "you said:").await;
    let answer = page.text("#log .agent:last-of-type").await.unwrap();
    assert!(answer.contains("apples") && answer.contains("pears"), "{answer}");
    assert!(!answer.contains("plums"), "{answer}");
    // The other chat is as it was.
    page.open(&world.url("/chats/C1")).await.unwrap();
    connected(&page).await;
    assert!(page.text("#log").await.unwrap().contains("echo: plums"));
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

/// All of a chat, by a command and without a script's buttons; its files come along, and stay apart.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_has_files_of_its_own() {
    let world = World::start().await;
    let page = world.login().await;
    let files = world.stack.data().join("workspaces/w1/chats/C1/files");
    say(&page, "hello").await;
    answered(&page, "echo: hello").await;
    page.wait_for("!document.querySelector('.working')", "the end of the turn").await.unwrap();
    std::fs::create_dir_all(files.join("deep")).unwrap();
    std::fs::write(files.join("deep/notes.txt"), "one").unwrap();
    say(&page, "/branch Other way").await;
    answered(&page, "C2 is open").await;
    page.open(&world.url("/chats/C2")).await.unwrap();
    connected(&page).await;
    assert_eq!(page.text(".bar h1").await.unwrap(), "Other way");
    let copy = world.stack.data().join("workspaces/w1/chats/C2/files/deep/notes.txt");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "one");
    std::fs::write(&copy, "two").unwrap();
    assert_eq!(std::fs::read_to_string(files.join("deep/notes.txt")).unwrap(), "one");
    let audit = world.stack.cli_ok(&["audit", "tail"]).await.unwrap();
    assert!(audit.contains("chat.branch"), "{audit}");
}
