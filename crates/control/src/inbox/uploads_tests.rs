use crate::test_world::{C1, World};

impl World {
    fn incoming(&self) -> Vec<String> {
        let dir = self.control.layout().chat_incoming(self.ada.workspace, C1);
        let entries = std::fs::read_dir(dir).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// X10: killed in the middle of a file, nothing is there under its name; the same file sent again gets it.
#[tokio::test]
async fn a_file_that_was_interrupted_is_not_there() {
    let world = World::new().await;
    let begin =
        || world.control.inbox().upload(world.ada.id, (world.ada.workspace, C1), "report.pdf");
    let mut killed = begin().await.unwrap();
    killed.write(b"half of").unwrap();
    assert!(!world.incoming().contains(&"report.pdf".to_owned()), "{:?}", world.incoming());
    // Nothing of ours runs any more after a kill, and the kernel has the file.
    std::mem::forget(killed);
    let mut whole = begin().await.unwrap();
    whole.write(b"all of it").unwrap();
    let kept = whole.finish().await.unwrap();
    assert_eq!((kept.name.as_str(), kept.size), ("report.pdf", 9));
    assert_eq!(kept.path, "chats/C1/incoming/report.pdf");
    let mut dropped = begin().await.unwrap();
    dropped.write(b"half of").unwrap();
    drop(dropped);
    let again = begin().await.unwrap().finish().await.unwrap();
    assert_eq!(again.name, "report-2.pdf", "what is there stays");
    let named: Vec<String> =
        world.incoming().into_iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(named, ["report-2.pdf", "report.pdf"]);
}
