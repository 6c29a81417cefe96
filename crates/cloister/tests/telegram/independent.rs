//! The same against a Telegram that others wrote: what is fetched from it and sent to it, it decides how that
//! looks.

use std::time::Instant;

use cloister_testkit::telegram::{Fault, IndependentTelegram};

use crate::world::{World, eventually};

/// X5: messages are fetched from, and answers sent to, an independent implementation.
#[tokio::test]
async fn a_conversation_on_a_server_of_others() {
    let other = IndependentTelegram::start().await.unwrap_or_else(|error| panic!("{error}"));
    let world = World::builder().bare().await;
    // What it has not, or not in a form that can be read, our own server does.
    let elsewhere = || Fault::Elsewhere(other.address().to_owned());
    let unknown =
        Fault::Refuse { code: 404, description: "Not Found: method not found".to_owned() };
    world.telegram.lay("sendMessageDraft", unknown);
    for method in ["getUpdates", "sendMessage", "editMessageText"] {
        world.telegram.lay(method, elsewhere());
    }
    let ann = world.person("ann").await;
    // The chat exists for our own server, too: it shows that an answer is being written.
    ann.say(&ann.with(&world.bot), "never fetched");
    world.add_bot(&world.bot, &[]).await;
    let (token, id) = (world.bot.token.as_str(), ann.id());
    let answer = async |words: &str| {
        eventually(&format!("{words:?} is heard"), || async {
            let heard = other.heard(token, id).await.unwrap();
            heard.into_iter().find(|text| text.contains(words))
        })
        .await
    };
    other.say(token, id, "hello").await.unwrap();
    answer("echo: hello").await;
    other.say(token, id, "/status").await.unwrap();
    answer("Nothing is running").await;
    // It answers every poll at once: that is no reason to ask without a pause.
    let since = Instant::now();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let asked = world.telegram.count_since(since);
    assert!(asked <= 30, "{asked} requests in a second");
}
