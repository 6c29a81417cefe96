//! A small git repository, as files that any server can serve.

const COMMIT: &str = "8a45d2d1b5bdb996918545c476906c3450a3ddc1";

/// Objects by where they are, deflated.
const OBJECTS: &[(&str, &str)] = &[
    (
        "objects/8a/45d2d1b5bdb996918545c476906c3450a3ddc1",
        "78da6dcc410a80201040d1d69e62f64168a925447495d166c8850436dd3f69dddf3ef8e92a250b18ed3ba94410f5a2392487\
         8799d19241e771260cd3488ec95a8e23370f0a1f39af0a082bee71481b18e8754ba5ef28f4678a73bd45bd00d421a1",
    ),
    (
        "objects/b0/80f9c5ad17a4e1a56a7ea932e5fe44fb2ff9c9",
        "78da2b294a4d553036613034303033315108727574f17565d8785c60d907d7b7170b4fe6c61eb0b9f7cc55f962390027ce10ca",
    ),
    (
        "objects/b1/c710a6f045edd171c96d5dc03cdee64523d177",
        "78da4bcac94f5230346648cec9cf4b4dd12dcf2fca2ee602004bdb0706",
    ),
];

/// A file of `/anything/repo.git`.
pub(super) fn file(path: &str) -> Option<Vec<u8>> {
    let (_, inside) = path.split_once("/repo.git/")?;
    match inside {
        "HEAD" => Some(b"ref: refs/heads/main\n".to_vec()),
        "info/refs" => Some(format!("{COMMIT}\trefs/heads/main\n").into_bytes()),
        _ => {
            let (_, hex) = OBJECTS.iter().find(|(place, _)| *place == inside)?;
            let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
            digits
                .chunks_exact(2)
                .map(|pair| u8::try_from(pair.first()? * 16 + pair.last()?).ok())
                .collect()
        }
    }
}
