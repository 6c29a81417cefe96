//! The model server says what it was told to say, and notices what is wrong with a request.

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use cloister_testkit::{Matcher, ModelServer, Reply};
    use http_body_util::{BodyExt, Full};
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    use serde_json::{Value, json};
    use tokio::net::TcpStream;
    use tokio::task::JoinSet;

    async fn post(server: &ModelServer, body: &Value) -> (u16, String) {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let mut connections = JoinSet::new();
        connections.spawn(async move { connection.await.unwrap_or_default() });
        let request = hyper::Request::post("/v1/chat/completions")
            .header("host", "test")
            .body(Full::new(Bytes::from(body.to_string())))
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map(|body| body.to_bytes());
        (status, body.map_or("cut".to_owned(), |b| String::from_utf8(b.to_vec()).unwrap()))
    }

    fn ask(text: &str) -> Value {
        json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
               "messages": [{"role": "user", "content": text}]})
    }

    #[tokio::test]
    async fn the_queue_comes_before_rules_and_rules_before_the_echo() {
        let server = ModelServer::start().await.unwrap();
        server.enqueue(Reply::text("queued"));
        server.when(Matcher::last_user_contains("weather"), Reply::text("sunny"));
        for (asked, expected) in [("weather", "queued"), ("weather", "sunny"), ("hi", "echo: hi")] {
            let mut request = ask(asked);
            request["stream"] = json!(false);
            let (status, body) = post(&server, &request).await;
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(status, 200);
            assert_eq!(body["choices"][0]["message"]["content"], expected);
        }
        assert_eq!(server.request_count(), 3);
        assert_eq!(server.violations(), [""; 0]);
    }

    #[tokio::test]
    async fn the_same_seed_gives_the_same_bytes() {
        let mut bodies = Vec::new();
        for seed in [7, 7, 8] {
            let server = ModelServer::builder().seed(seed).start().await.unwrap();
            server.enqueue(Reply::text("a text that is cut into pieces by the seed alone"));
            bodies.push(post(&server, &ask("hi")).await.1);
        }
        assert_eq!(bodies[0], bodies[1]);
        assert_ne!(bodies[0], bodies[2]);
        assert!(bodies[0].ends_with("data: [DONE]\n\n"));
    }

    #[tokio::test]
    async fn it_fails_the_way_it_is_told() {
        let server = ModelServer::start().await.unwrap();
        server.enqueue(Reply::status(429, "slow down").retry_after(3));
        assert_eq!(post(&server, &ask("hi")).await, (429, "slow down".to_owned()));
        server.enqueue(Reply::text("half an answer").chunks(4).cut_after(2));
        assert_eq!(post(&server, &ask("hi")).await.1, "cut");
        server.enqueue(Reply::text("half an answer").chunks(4).stop_after(2));
        assert!(!post(&server, &ask("hi")).await.1.contains("DONE"));
        server.enqueue(Reply::text("fine").no_usage());
        assert!(!post(&server, &ask("hi")).await.1.contains("prompt_tokens"));
        server.enqueue(Reply::hang());
        let hanging = tokio::time::timeout(Duration::from_millis(100), async {
            post(&server, &ask("hi")).await;
        });
        assert!(hanging.await.is_err());
        assert!(server.wait_for_abandoned(1, Duration::from_secs(5)).await);
    }

    #[tokio::test]
    async fn commands_become_tasks_or_are_run_by_the_tools_that_are_offered() {
        let server = ModelServer::start().await.unwrap();
        for (tool, expected) in
            [("delegate", "\"name\":\"delegate\""), ("bash", "\"name\":\"bash\"")]
        {
            let mut request = ask("run: ls\nrun: pwd");
            request["tools"] = json!([{"type": "function", "function": {"name": tool}}]);
            let (_, body) = post(&server, &request).await;
            assert_eq!(body.matches(expected).count(), 2, "{body}");
        }
    }

    #[tokio::test]
    async fn what_a_strict_provider_refuses_is_noticed() {
        let call = |id: &str, arguments: &str| {
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "ls", "arguments": arguments}}]})
        };
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
        let user = json!({"role": "user", "content": "hi"});
        let cases = [
            (json!([user, call("a", "{}"), result("a")]), None),
            (json!([user, call("a", "{}")]), Some("the results of a are missing")),
            (json!([user, call("a", "{}"), user]), Some("comes before the results of a")),
            (json!([user, result("a")]), Some("answers \"a\", which was not called")),
            (json!([user, call("a", "[]"), result("a")]), Some("arguments that are not an object")),
            (json!([{"role": "root", "content": "hi"}]), Some("the role \"root\"")),
            (json!([{"role": "user", "content": null}]), Some("has no content")),
            (json!([]), Some("there are no messages")),
        ];
        for (messages, expected) in cases {
            let server = ModelServer::start().await.unwrap();
            let mut request = ask("");
            request["messages"] = messages;
            post(&server, &request).await;
            let found = server.violations().join("\n");
            match expected {
                Some(expected) => {
                    assert!(found.contains(expected), "{expected:?} not in {found:?}")
                }
                None => assert_eq!(found, ""),
            }
        }
        let server = ModelServer::builder().key("k").start().await.unwrap();
        post(&server, &json!({"messages": [user], "stream": true})).await;
        assert_eq!(server.violations().len(), 3, "{:?}", server.violations());
    }
}
