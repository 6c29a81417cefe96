use cloister_protocol::{ChatId, Level, ModelProfile, ModelSettings, WorkKind};
use cloister_vault::Form;

use super::*;
use crate::db::Store;
use crate::secrets::MasterPlace;
use crate::test_world;
use crate::users::User;

const KEY: &str = "sk-canary-of-ada-5f";

struct Setup {
    dir: tempfile::TempDir,
    store: Store,
    keys: Keyring,
    ada: User,
    bob: User,
    club: User,
}

async fn setup() -> Setup {
    let (dir, store) = test_world::store().await;
    let master = dir.path().join("master.key");
    store.secrets().create_master(&master).await.unwrap();
    let keys = store.secrets().unlock(&MasterPlace::file(&master)).await.unwrap();
    let actor = Actor::person("test");
    let ada = test_world::add(&store, "ada").await;
    let bob = test_world::add(&store, "bob").await;
    let club = add_club(&store, &actor).await;
    Setup { dir, store, keys, ada, bob, club }
}

async fn add_club(store: &Store, actor: &Actor) -> User {
    let name = "club".parse().unwrap();
    store
        .users()
        .add_account(actor, &name, AccountKind::Community, test_world::LIMITS)
        .await
        .unwrap()
}

fn model(name: &str) -> Model {
    Model {
        name: name.to_owned(),
        base_url: "https://provider.test/v1".to_owned(),
        model: "p/m".to_owned(),
        key: KeyRef::None,
        prompt_price: 10,
        completion_price: 10,
        max_output_tokens: 1,
        profile: ModelProfile::default(),
        settings: ModelSettings::default(),
    }
}

fn binding(user: &User, name: &str) -> KeyBinding {
    let form = Form::Header { name: "authorization".to_owned(), template: "Bearer {}".to_owned() };
    let hosts = vec!["provider.test:443".parse().unwrap()];
    KeyBinding::new(user.id, name, Binding::new(hosts, form).unwrap()).unwrap()
}

impl Setup {
    async fn put(&self, user: &User, name: &str) {
        let key = Some(SecretValue::from(KEY.to_owned()));
        let (actor, of) = (Actor::person("test"), binding(user, name));
        self.store.models().put_own(&actor, &self.keys, &of, (&model(name), key)).await.unwrap();
    }

    async fn key(&self, user: &User, name: &str) -> Option<Vec<u8>> {
        let models = self.store.models();
        let opened = models.open_own_key(&self.keys, &binding(user, name)).await.unwrap();
        opened.map(|value| value.expose().to_vec())
    }

    async fn order(&self, user: &User) -> Vec<String> {
        let place = (user.workspace, ChatId::from_number(1));
        let models = self.store.models();
        let chain = models.chain_for(place, Level::Coordinator, WorkKind::Talk).await.unwrap();
        chain.into_iter().map(|model| model.name).collect()
    }
}

#[tokio::test]
async fn a_key_is_its_owners_and_nowhere_in_the_clear() {
    let setup = setup().await;
    setup.put(&setup.ada, "mine").await;
    assert_eq!(setup.key(&setup.ada, "mine").await.as_deref(), Some(KEY.as_bytes()));
    assert_eq!(setup.key(&setup.bob, "mine").await, None);
    let own = setup.store.models().own(setup.ada.id).await.unwrap();
    assert!(own[0].is_own() && own[0].key.to_string() == "own:mine");
    // It is no secret that requests of a cell could carry.
    let owner = Owner::User(setup.ada.id);
    assert!(setup.store.secrets().of(owner).await.unwrap().is_empty());
    assert!(setup.store.secrets().open_secrets(&setup.keys, owner).await.unwrap().is_empty());
    for file in ["cloister.db", "cloister.db-wal"] {
        let bytes = std::fs::read(setup.dir.path().join(file)).unwrap_or_default();
        assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{file}");
    }
    // What is taken away of a person has the model and not its key.
    let platform = setup.store.platform();
    let (rows, _) = platform.personal_records(setup.ada.id, "own_models", 0).await.unwrap();
    assert_eq!((rows.len(), rows[0].get("sealed")), (1, None));
}

#[tokio::test]
async fn what_is_ones_own_is_asked_in_ones_own_chats_alone() {
    let setup = setup().await;
    let (actor, models) = (Actor::person("test"), setup.store.models());
    setup.put(&setup.ada, "mine").await;
    for user in [&setup.ada, &setup.bob, &setup.club] {
        let everywhere = (user.workspace, None);
        models.choose(&actor, everywhere, None, Some("mine")).await.unwrap();
    }
    assert_eq!(setup.order(&setup.ada).await, ["mine", "demo"]);
    assert_eq!(setup.order(&setup.bob).await, ["demo"]);
    assert_eq!(setup.order(&setup.club).await, ["demo"]);
    // Even if a community had one.
    setup.put(&setup.club, "mine").await;
    assert_eq!(setup.order(&setup.club).await, ["demo"]);
    models.remove_own(&actor, (setup.ada.id, setup.ada.workspace), "mine").await.unwrap();
    assert_eq!(setup.order(&setup.ada).await, ["demo"]);
    assert_eq!(setup.key(&setup.ada, "mine").await, None);
    let place = (setup.ada.id, setup.ada.workspace);
    models.remove_own(&actor, place, "mine").await.unwrap_err();
}

#[tokio::test]
async fn it_opens_under_the_next_master_key_and_goes_with_its_owner() {
    let setup = setup().await;
    setup.put(&setup.ada, "mine").await;
    let path = setup.dir.path().join("master.key");
    let actor = Actor::person("test");
    setup.store.secrets().rotate_master_file(&actor, &setup.keys, &path).await.unwrap();
    assert_eq!(setup.key(&setup.ada, "mine").await.as_deref(), Some(KEY.as_bytes()));
    setup.store.platform().erase_records(&actor, setup.ada.id).await.unwrap();
    assert!(setup.store.models().own(setup.ada.id).await.unwrap().is_empty());
}
