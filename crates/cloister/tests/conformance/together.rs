//! One person on every surface at once: one agent, one chat, wherever they are.

use cloister_testkit::discord::Discord;
use cloister_testkit::synapse::Synapse;
use cloister_testkit::telegram::TelegramServer;
use cloister_testkit::{ModelServer, Product, Stack};

use crate::seat::{Seat, eventually};
use crate::terminal::AtTheKeys;
use crate::web::AtThePage;
use crate::{discord, matrix, telegram};

/// I2, W7, X1: accounts that are linked reach the same agent; what is asked on one surface is answered on another
/// and settled on both; what a task has to say goes where the person was last active.
#[tokio::test]
async fn a_person_with_every_account_has_one_agent() {
    let synapse = Synapse::shared().await.unwrap_or_else(|error| panic!("{error}"));
    let telegram = TelegramServer::start().await.unwrap();
    let discord = Discord::start().await.unwrap();
    let product =
        Product::start(Stack::builder().asks_before_deleting(), ModelServer::builder()).await;
    let on_matrix = matrix::connect(&product, &synapse, &synapse.url()).await;
    let on_telegram = telegram::connect(&product, &telegram).await;
    let on_discord = discord::connect(&product, &discord).await;
    product.cli_ok(&["user", "add", "ann"]).await;

    let mut room = matrix::sit_down(&product, (&synapse, &on_matrix), "ann").await;
    let mut chat = telegram::sit_down(&product, (&telegram, &on_telegram), "ann").await;
    let mut channel = discord::sit_down(&product, (&discord, &on_discord), "ann").await;
    let mut page = AtThePage::open(&product.stack, "ann").await;
    let mut keys = AtTheKeys::open(&product.stack, "ann").await;
    room.ask("from matrix", "echo: from matrix").await;
    chat.ask("from telegram", "echo: from telegram").await;
    channel.ask("from discord", "echo: from discord").await;
    page.ask("from the page", "echo: from the page").await;
    keys.ask("from the keys", "echo: from the keys").await;
    let said = product.cli_ok(&["chats", "show", "C1", "--user", "ann"]).await;
    for place in ["matrix", "telegram", "discord", "the page", "the keys"] {
        assert!(said.contains(&format!("echo: from {place}")), "{said}");
    }

    chat.ask("run: mkdir old && echo made it", "made it").await;
    chat.say("run: rm -r old && echo removed it").await;
    chat.sees("A1").await;
    assert!(chat.sees_buttons());
    channel.say("/yes").await;
    channel.sees("done: removed it").await;
    eventually("settled there too", || async { (!chat.sees_buttons()).then_some(()) }).await;
    let elsewhere = chat.heard().await;
    assert!(elsewhere.iter().all(|text| !text.contains("done: removed it")), "{elsewhere:#?}");
    telegram.assert_no_complaints();
    discord.assert_no_complaints();
}
