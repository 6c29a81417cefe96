use std::time::Duration;

use super::super::failure::ProviderSaid;
use super::*;

fn told(failure: &Failure, has_key: bool) -> String {
    let mut model = Model::demo();
    model.base_url = "https://models.example/v1".to_owned();
    model.model = "glm".to_owned();
    let body = diagnosis(failure, AskedModel { model: &model, has_key });
    format!("{} | {}", body.message, body.fix.unwrap())
}

fn answered(code: u16, said: &str) -> Failure {
    Failure::Status { code, retry_after: None, said: ProviderSaid(said.to_owned()) }
}

#[test]
fn each_mistake_is_named_and_has_a_way_out() {
    for (failure, has_key, named) in [
        (answered(401, "bad key"), true, "the key was refused"),
        (answered(401, "who are you?"), false, "wants a key"),
        (answered(404, "The model `glm` does not exist"), true, "the model \"glm\" is not known"),
        (answered(400, "invalid model id"), true, "the model \"glm\" is not known"),
        (answered(404, "page not found"), true, "the address is wrong"),
        (answered(302, ""), true, "points to another address"),
        (answered(402, ""), true, "can't pay"),
        (answered(429, ""), true, "busy"),
        (answered(500, ""), true, "failed"),
        (Failure::Connect { reason: "refused".to_owned() }, true, "nothing runs there"),
        (Failure::OutOfTime(Duration::from_secs(30)), true, "in time"),
        (Failure::Malformed("it does not stream"), true, "does not speak"),
    ] {
        let told = told(&failure, has_key);
        assert!(told.contains(named) && !told.ends_with("| "), "{named}: {told}");
    }
}
