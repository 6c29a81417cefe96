//! The example of a surface that somebody else wrote: a folder (`examples/folder-surface`), in Python.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cloister_testkit::{ModelServerBuilder, Product, Stack, world_of_product};

use crate::seat::{Ground, Seat, eventually};

const PROGRAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/folder-surface/surface.py");

pub(crate) struct Folder {
    product: Product,
}

world_of_product!(Folder);

pub(crate) struct AtAFolder {
    home: PathBuf,
    dropped: usize,
}

impl Ground for Folder {
    type Seat = AtAFolder;
    type Stranger = AtAFolder;

    async fn start(config: &str, model: ModelServerBuilder) -> Self {
        let program = Path::new(PROGRAM).canonicalize().unwrap();
        let config =
            format!("{config}\n[connectors.folder]\nprogram = {:?}\n", program.to_str().unwrap());
        let product =
            Product::start(Stack::builder().asks_before_deleting().config(&config), model).await;
        product.cli_ok(&["connector", "add", "folder", "--account", "office"]).await;
        Self { product }
    }

    async fn person(&mut self, user: &str) -> AtAFolder {
        self.link_account(user, "folder", user).await;
        AtAFolder::open(&self.stack, user)
    }

    async fn stranger(&mut self) -> AtAFolder {
        AtAFolder::open(&self.stack, "eve")
    }

    async fn say_twice(&mut self, seat: &mut AtAFolder, text: &str) {
        seat.say(text).await;
        seat.sees(text).await;
        seat.until_taken().await;
        seat.dropped -= 1;
        seat.say(text).await;
        seat.until_taken().await;
    }
}

impl AtAFolder {
    /// The folder of somebody, where the program may work, whatever its uid.
    fn open(stack: &Stack, name: &str) -> Self {
        let home = stack.data().join("surfaces/folder/people").join(name);
        for dir in [home.clone(), home.join("in")] {
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o777)).unwrap();
        }
        Self { home, dropped: 0 }
    }

    /// Nobody sees a file that is half written.
    fn drop_in(&self, name: &str, bytes: &[u8]) {
        let place = self.home.join("in");
        let beside = place.join(format!(".{name}"));
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(beside, place.join(name)).unwrap();
    }

    /// Waits until everything that was dropped is taken.
    async fn until_taken(&self) {
        let place = self.home.join("in");
        let look = || async { std::fs::read_dir(&place).unwrap().next().is_none().then_some(()) };
        eventually("what was dropped is taken", look).await;
    }

    /// What lies in the person's `out`, in its order.
    fn out(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.home.join("out")).into_iter().flatten().flatten();
        let shown = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        let mut shown: Vec<PathBuf> = shown.map(|entry| entry.path()).collect();
        shown.sort();
        shown
    }
}

impl Seat for AtAFolder {
    async fn say(&mut self, text: &str) {
        self.dropped += 1;
        self.drop_in(&format!("msg-{:06}.txt", self.dropped), text.as_bytes());
    }

    async fn send_file(&mut self, name: &str, bytes: &[u8]) {
        self.drop_in(name, bytes);
    }

    async fn heard(&mut self) -> Vec<String> {
        let texts = self.out().into_iter().filter(|path| path.is_file());
        texts.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    async fn file(&mut self, name: &str) -> Option<Vec<u8>> {
        self.out().into_iter().find_map(|dir| std::fs::read(dir.join(name)).ok())
    }

    async fn allow(&mut self) {
        self.sees("`/approve A1`").await;
        self.say("/approve A1").await;
    }
}
