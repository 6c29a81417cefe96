use std::fs;

use cloister_protocol::{AgentFrame, TaskState, Update};

use ref_cast::RefCast as _;

use super::Pruning;
use crate::layers::undo::tests::Tasks;

const DAY: i64 = 24 * 60 * 60 * 1000;

impl Tasks {
    /// What was told in the chat beside answers.
    pub(crate) async fn notices(&self) -> Vec<String> {
        let chat = (self.workspace(), crate::test_world::C1);
        let told = self.store().outbox().undelivered(chat.0, chat.1).await.unwrap();
        let notice = |item: cloister_store::outbox::OutboxItem| match item.frame {
            AgentFrame::Update(Update::Notice { text }) => Some(text),
            _ => None,
        };
        told.into_iter().filter_map(notice).collect()
    }
}

#[tokio::test]
async fn what_can_be_taken_back_is_said_before_it_goes() {
    let tasks = Tasks::new().await;
    let (task, upper) = tasks.begin().await;
    fs::write(upper.join("new"), "new").unwrap();
    let memory = tasks.memory();
    tasks.remember(Some(task.id), &format!("{memory}- of the task\n")).await;
    tasks.end(&task, TaskState::Done).await;
    let layers = tasks.layers();
    let pruning = Pruning::ref_cast(&tasks.0.control);
    let now = tasks.store().clock.now_ms();
    pruning.prune_at(now + 20 * DAY).await.unwrap();
    assert!(tasks.notices().await.is_empty());
    let said = now + 29 * DAY + 1000;
    pruning.prune_at(said).await.unwrap();
    pruning.prune_at(said + DAY / 2).await.unwrap();
    let notices = tasks.notices().await;
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("T1") && notices[0].contains("30 days"), "{notices:?}");
    assert!(layers.standing(task.id).await.unwrap().is_some());
    pruning.prune_at(said + DAY).await.unwrap();
    assert_eq!(layers.standing(task.id).await.unwrap(), None);
    assert!(tasks.store().task_documents().of(task.id).await.unwrap().is_empty());
    let entries = tasks.store().audit().audit_tail(50).await.unwrap();
    assert!(entries.iter().any(|entry| entry.action == "task.forget"), "{entries:?}");
    // The files stay as they are.
    assert!(tasks.files().contains_key("new") && tasks.memory().contains("of the task"));
}
