use super::*;

const LIST: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F9F 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0
   1: 00000000:2382 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0
   2: 0100007F:1F9F 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0
   3: 0A00A8C0:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4 1 0
   4: 00000000000000000000000001000000:04D2 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 5 1 0
   5: 00000000000000000000000000000000:04D3 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 6 1 0
what is no line";

#[cfg(target_endian = "little")]
#[test]
fn what_listens_for_this_machine_is_found() {
    let found: Vec<String> = listed(LIST).collect();
    assert_eq!(found, ["127.0.0.1:8095", "127.0.0.1:9090", "[::1]:1234", "127.0.0.1:1235"]);
}

#[tokio::test]
async fn a_socket_of_ours_is_among_them() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    assert!(addresses().await.contains(&address), "{address}");
}
