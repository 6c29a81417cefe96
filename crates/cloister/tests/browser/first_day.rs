//! What a person meets on their first day, besides the conversation itself.

use crate::world::{World, answered, connected, picture, say};

/// The names of the chats in the sidebar, from the top.
const LISTED: &str =
    "[...document.querySelectorAll('.chats > ul .name')].map(name => name.innerText).join('|')";

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_in_use_is_at_the_top_and_called_by_its_first_words() {
    let world = World::start().await;
    let page = world.login().await;
    say(&page, "older").await;
    answered(&page, "echo: older").await;
    // Beside the name of a chat stands whose it is.
    page.open(&world.url("/agents")).await.unwrap();
    page.eval("document.querySelector('form[action=\"/agents\"] [name=name]').focus()")
        .await
        .unwrap();
    page.type_text("Nora").await.unwrap();
    page.press("Enter", false).await.unwrap();
    page.wait_for_text("main", "Nora").await.unwrap();
    page.open(&world.url("/chats/C1")).await.unwrap();
    page.eval("document.querySelector('.sidebar .head select').selectedIndex = 1").await.unwrap();
    page.click(".sidebar .head button").await.unwrap();
    page.wait_for("location.pathname === '/chats/C2'", "a new chat").await.unwrap();
    connected(&page).await;
    say(&page, "newer").await;
    answered(&page, "echo: newer").await;
    assert_eq!(page.eval(LISTED).await.unwrap(), "newer|older");
    page.wait_for_text(".chats [aria-current] .hint", "Nora").await.unwrap();
    picture(&page, "two-agents").await;
    page.reload().await.unwrap();
    assert_eq!(page.eval(LISTED).await.unwrap(), "newer|older");

    page.open(&world.url("/chats/C1")).await.unwrap();
    connected(&page).await;
    say(&page, "again").await;
    answered(&page, "echo: again").await;
    assert_eq!(page.eval(LISTED).await.unwrap(), "older|newer");
    page.reload().await.unwrap();
    assert_eq!(page.eval(LISTED).await.unwrap(), "older|newer");
}

/// However many chats there are, the way out is in sight.
#[tokio::test(flavor = "multi_thread")]
async fn the_places_stay_in_sight_below_many_chats() {
    let world = World::start().await;
    let session = world.stack.session("owner").await.unwrap();
    let page = world.login().await;
    for n in 1..=14 {
        if n > 1 {
            page.click(".sidebar .head button").await.unwrap();
            let there = format!("location.pathname === '/chats/C{n}'");
            page.wait_for(&there, "a new chat").await.unwrap();
        }
        let chat = format!("C{n}").parse().unwrap();
        world.stack.client(&session, chat).ask("words").await.unwrap();
    }
    page.reload().await.unwrap();
    let in_sight =
        "document.querySelector('#places').getBoundingClientRect().bottom <= innerHeight";
    assert_eq!(page.eval(in_sight).await.unwrap(), true);
    let scrolls = "(({scrollHeight, clientHeight}) => scrollHeight > clientHeight)(document.querySelector('.chats'))";
    assert_eq!(page.eval(scrolls).await.unwrap(), true);
    picture(&page, "many-chats").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_for_a_model_is_chosen_and_not_typed() {
    let world = World::start().await;
    let page = world.login().await;
    page.open(&world.url("/model")).await.unwrap();
    page.eval("document.querySelector('a[href=\"/model?place=openrouter\"]').click()")
        .await
        .unwrap();
    let filled =
        "document.querySelector('[name=base_url]')?.value === 'https://openrouter.ai/api/v1'";
    page.wait_for(filled, "its address").await.unwrap();
    // A member may name no other than these; who runs the machine may.
    page.open(&world.url("/model/own")).await.unwrap();
    assert_eq!(page.count("input[name=base_url]").await.unwrap(), 1);
    let bob = world.login_as("bob").await;
    bob.open(&world.url("/model/own")).await.unwrap();
    assert_eq!(bob.count("input[name=base_url]").await.unwrap(), 0);
    assert!(bob.count("select[name=base_url] option").await.unwrap() > 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guided_start_has_nothing_filled_in_that_nobody_wrote() {
    let world = World::start().await;
    let page = world.login().await;
    say(&page, "hello").await;
    answered(&page, "echo: hello").await;
    page.open(&world.url("/start")).await.unwrap();
    let about = "document.querySelector('[name=about]').value";
    assert_eq!(page.eval(about).await.unwrap(), "");
    // Saved as it is, it stays what it was.
    page.click("button.primary").await.unwrap();
    connected(&page).await;
    let known = world.stack.data().join("workspaces/w1/USER.md");
    let text = std::fs::read_to_string(known);
    assert!(text.is_ok_and(|text| text.contains("Nothing is known yet.")), "as it was");
}
