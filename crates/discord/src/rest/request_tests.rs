use serde_json::json;

use super::{File, Request, at};

/// A token of an interaction comes from outside: whatever is in it stays one segment of the address.
#[test]
fn what_comes_from_outside_is_one_segment() {
    assert_eq!(at::callback(7, "aW50Z-X_y.1~="), "interactions/7/aW50Z-X_y.1~=/callback");
    assert_eq!(at::callback(7, ".."), "interactions/7/%2E%2E/callback");
    assert_eq!(
        at::after(1, "../../users/@me?x#y"),
        "webhooks/1/..%2F..%2Fusers%2F@me%3Fx%23y?wait=true&with_components=true"
    );
    assert_eq!(at::answered(1, "t", "@original"), "webhooks/1/t/messages/@original");
    assert_eq!(at::messages_after(5, 9, 100), "channels/5/messages?after=9&limit=100");
}

#[test]
fn a_file_goes_in_a_form_that_ends_where_it_ends() {
    let file = File { name: "a\"\r\nb.txt", data: b"--x\r\nbytes" };
    let request = Request::post(at::messages(1)).with_file(&json!({"content": "hi"}), &file);
    let (kind, bytes) = request.ok().and_then(Request::into_body).unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let parts: Vec<&str> = text.split(&format!("--{boundary}")).collect();
    assert_eq!(parts.len(), 4, "{text}");
    assert_eq!(parts[0], "");
    assert!(parts[1].contains("name=\"payload_json\"\r\n"), "{}", parts[1]);
    assert!(parts[1].ends_with("\r\n\r\n{\"content\":\"hi\"}\r\n"), "{}", parts[1]);
    assert!(parts[2].contains("name=\"files[0]\"; filename=\"a___b.txt\"\r\n"), "{}", parts[2]);
    assert!(parts[2].ends_with("\r\n\r\n--x\r\nbytes\r\n"), "{}", parts[2]);
    assert_eq!(parts[3], "--\r\n");
}
