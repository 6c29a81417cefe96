//! The OpenAPI document of the admin API, made from the table of calls and the types they take and answer.

use axum::http::Method;
use cloister_protocol::ErrorEnvelope;
use cloister_protocol::admin::clients::{ClientCertificate, Enrol};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::admin::route::Call;

const ABOUT: &str = "What people who run a Cloister can see and change. Served over TLS 1.3 to enrolled \
     clients (`cloister admin enroll`), and on the control socket to the operator's own account. Every call \
     is judged by the policies, under the action that `x-cloister-action` names.";
const ENROLMENT: &str = "The one call for a machine without a certificate, on a connection that offers the \
     protocol `cloister-enroll/1` and no other. The server shows the root that the invitation names.";

/// The document as it is committed under `docs/`.
pub fn openapi_text() -> String {
    let json = serde_json::to_string_pretty(&sorted(openapi())).unwrap_or_default();
    format!("{json}\n")
}

/// The same text in every build, whatever order maps are kept in.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<(String, Value)> = map.into_iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(fields.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

pub(crate) fn openapi() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let failure = generator.subschema_for::<ErrorEnvelope>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for route in crate::admin::table() {
        let operation = operation(&route.call, &failure, &mut generator);
        let at = paths.entry(route.call.path).or_insert_with(|| json!({}));
        if let Some(methods) = at.as_object_mut() {
            methods.insert(route.call.method.as_str().to_ascii_lowercase(), operation);
        }
    }
    paths.insert("/enroll/v1/clients".to_owned(), enrolment(&failure, &mut generator));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Cloister admin API",
            "version": "1",
            "description": ABOUT,
        },
        "servers": [{"url": "https://127.0.0.1:8485"}],
        "security": [{"client_certificate": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"client_certificate": {"type": "mutualTLS"}},
            "schemas": generator.take_definitions(true),
        },
    })
}

fn operation(call: &Call, failure: &Value, generator: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = call.path.split('/').filter_map(in_path).collect();
    if let Some(query) = call.shape.query {
        parameters.extend(in_query(&query(generator).to_value()));
    }
    let answer = call.shape.answer.map(|answer| answer(generator).to_value());
    let mut operation = json!({
        "operationId": operation_id(&call.method, call.path),
        "x-cloister-action": call.about.action(),
        "responses": responses(answer.as_ref(), failure),
    });
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some(body) = call.shape.body {
        operation["requestBody"] = content(&body(generator).to_value());
    }
    operation
}

fn enrolment(failure: &Value, generator: &mut SchemaGenerator) -> Value {
    let body = generator.subschema_for::<Enrol>().to_value();
    let answer = generator.subschema_for::<ClientCertificate>().to_value();
    json!({"post": {
        "operationId": "post_enroll_v1_clients",
        "description": ENROLMENT,
        "security": [],
        "requestBody": content(&body),
        "responses": responses(Some(&answer), failure),
    }})
}

/// `post /admin/v1/users/{user}/secrets` is `post_users_user_secrets`.
fn operation_id(method: &Method, path: &str) -> String {
    let path = path.trim_start_matches("/admin/v1/").replace(['{', '}'], "");
    format!("{}_{}", method.as_str().to_ascii_lowercase(), path.replace(['/', '.'], "_"))
}

fn in_path(segment: &str) -> Option<Value> {
    let name = segment.strip_prefix('{')?.strip_suffix('}')?;
    Some(json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
}

/// One parameter for each field.
fn in_query(schema: &Value) -> Vec<Value> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, schema)| {
            json!({
                "name": name,
                "in": "query",
                "required": required.contains(&name.as_str()),
                "schema": schema,
            })
        })
        .collect()
}

fn responses(answer: Option<&Value>, failure: &Value) -> Value {
    let mut done = json!({"description": "done"});
    if let Some(answer) = answer {
        done["content"] = json!({"application/json": {"schema": answer}});
    }
    let refused = json!({
        "description": "not done, and why",
        "content": {"application/json": {"schema": failure}},
    });
    json!({"200": done, "default": refused})
}

fn content(schema: &Value) -> Value {
    json!({"required": true, "content": {"application/json": {"schema": schema}}})
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
