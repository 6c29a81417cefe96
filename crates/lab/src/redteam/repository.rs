//! A small git repository, and a server of it that speaks as git does.

const COMMIT: &str = "8a45d2d1b5bdb996918545c476906c3450a3ddc1";

/// All of its objects: a commit, a tree and a README.
const PACK: &str = "5041434b00000002000000039a06789c6dc9410a80201000c0bbafd87b106a9a09117d65b55df220826dffcf0734d7914e04\
    496f9a63f67899808e0cfa1503615c2c7926e738591e1f15be72b70e083b9e69ce071898f4a072abb588d0df292efd11f501\
    90601e61a202789c3334303033315108727574f17565d8785c60d907d7b7170b4fe6c61eb0b9f7cc55f9623900cfd30e933d\
    789c4bcec9cf4b4dd12dcf2fca2ee60200240b04e31c109b71ecf31b844117e7554354b2f7fa97cb50";

/// What `/anything/repo.git` answers: its kind, and what it says.
pub(super) fn answer(path: &str) -> Option<(&'static str, Vec<u8>)> {
    let (_, inside) = path.split_once("/repo.git/")?;
    match inside {
        "info/refs" => {
            let words = "multi_ack_detailed no-done side-band-64k ofs-delta agent=git/redteam \
                         symref=HEAD:refs/heads/main";
            let said = format!(
                "{}0000{}{}0000",
                line("# service=git-upload-pack\n"),
                line(&format!("{COMMIT} HEAD\0{words}\n")),
                line(&format!("{COMMIT} refs/heads/main\n")),
            );
            Some(("application/x-git-upload-pack-advertisement", said.into_bytes()))
        }
        "git-upload-pack" => {
            let pack = bytes(PACK)?;
            let mut said = line("NAK\n").into_bytes();
            said.extend_from_slice(format!("{:04x}\u{1}", pack.len() + 5).as_bytes());
            said.extend_from_slice(&pack);
            said.extend_from_slice(b"0000");
            Some(("application/x-git-upload-pack-result", said))
        }
        _ => None,
    }
}

fn line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair.first()? * 16 + pair.last()?).ok())
        .collect()
}
