use cloister_testkit::{ModelServer, Page, Reply};
use serde_json::json;

use crate::world::{World, answered, picture, say};

/// Drops files on the page, as a file manager would.
async fn drop_file(page: &Page, name: &str, bytes: usize) {
    let drop = format!(
        "(() => {{ const d = new DataTransfer(); \
         d.items.add(new File([new Uint8Array({bytes}).fill(65)], {name:?})); \
         for (const kind of ['dragover', 'drop']) document.body.dispatchEvent(\
         new DragEvent(kind, {{dataTransfer: d, bubbles: true, cancelable: true}})); }})()"
    );
    page.eval(&drop).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_dropped_shown_with_progress_and_answered_about() {
    let world = World::start().await;
    let page = world.login().await;
    // Slow enough that the progress can be seen.
    let slow = json!({"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 400_000});
    page.call("Network.emulateNetworkConditions", slow).await.unwrap();
    drop_file(&page, "notes.txt", 1_000_000).await;
    drop_file(&page, "<b>two</b>.txt", 10).await;
    page.wait_for(
        "[...document.querySelectorAll('progress')].some(p => p.value > 0 && p.value < 100)",
        "progress",
    )
    .await
    .unwrap();
    picture(&page, "uploading").await;
    say(&page, "what is in these?").await;
    page.wait_for_text("#problem", "as soon as its files are").await.unwrap();
    answered(&page, "echo: what is in these?").await;
    page.wait_for_text(".person .file", "notes.txt").await.unwrap();
    assert_eq!(page.count("#uploads li").await.unwrap(), 0);
    let asked = world.model.requests();
    assert!(
        asked.iter().any(|r| r.last_user_text().contains("notes.txt")),
        "the agent was told of it"
    );
    page.reload().await.unwrap();
    page.wait_for_text(".person .file", "notes.txt").await.unwrap();
    assert_eq!(page.count(".person .file b").await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_can_be_taken_back_and_a_large_one_is_refused_before_it_is_sent() {
    let world = World::start().await;
    let page = world.login().await;
    page.eval("document.querySelector('#app').dataset.maxUpload = '1000'; 0").await.unwrap();
    drop_file(&page, "huge.bin", 2000).await;
    page.wait_for_text("#problem", "huge.bin is too large").await.unwrap();
    assert_eq!(page.count("#uploads li").await.unwrap(), 0);
    assert!(!page.requested().iter().any(|url| url.contains("/files")));

    let slow = json!({"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 20_000});
    page.call("Network.emulateNetworkConditions", slow).await.unwrap();
    page.eval("document.querySelector('#app').dataset.maxUpload = '9000000'; 0").await.unwrap();
    drop_file(&page, "wrong.bin", 1_000_000).await;
    page.click("#uploads button").await.unwrap();
    assert_eq!(page.count("#uploads li").await.unwrap(), 0);
    say(&page, "without it").await;
    answered(&page, "echo: without it").await;
    assert_eq!(page.count(".person .file").await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_agent_is_a_card_to_download() {
    let model = ModelServer::builder().rule(|received| {
        let taken = received.messages().iter().filter(|message| message["role"] == "assistant");
        let tools = received.tool_names();
        if !tools.contains(&"bash") || received.last_user_text().starts_with("[task report]") {
            return None;
        }
        Some(match taken.count() {
            0 => Reply::tool_call(
                "bash",
                json!({"command": "printf '<script>1</script>' > report.html"}),
            ),
            1 => Reply::tool_call("send_file", json!({"path": "report.html"})),
            _ => Reply::text("It is sent."),
        })
    });
    let world = World::with(model).await;
    let page = world.login().await;
    say(&page, "run: make a report").await;
    page.wait_for_text("a.file", "report.html").await.unwrap();
    picture(&page, "file-card").await;
    let headers = page
        .eval(
            "fetch(document.querySelector('a.file').href).then(async r => \
             [r.status, r.headers.get('content-disposition'), await r.text()].join('|'))",
        )
        .await
        .unwrap();
    assert_eq!(headers, "200|attachment; filename*=UTF-8''report.html|<script>1</script>");
    page.reload().await.unwrap();
    page.wait_for_text("a.file", "report.html").await.unwrap();
    assert_eq!(page.count("a.file").await.unwrap(), 1);
}
