use super::*;

/// A parser with a mistake that no seed shows: the length before the text is believed.
fn careless(input: &[u8]) -> Result<usize, String> {
    let Some((count, text)) = input.split_first() else { return Ok(0) };
    let taken = text.iter().take(usize::from(*count)).count();
    if taken < usize::from(*count) && text.starts_with(b"len") {
        return Err("it reads past the end".to_owned());
    }
    Ok(taken.min(8))
}

#[test]
fn a_mistake_is_found_made_small_and_saved() {
    let found = Fuzz::new("careless").seeds([b"\x03len"]).words(["len"]).run(careless).unwrap_err();
    assert_eq!(found.problem, "it reads past the end");
    assert!(found.input.len() <= 5, "{found}");
    let saved = found.saved.clone().unwrap();
    assert_eq!(std::fs::read(&saved).unwrap(), found.input);
    std::fs::remove_file(saved).unwrap();
}

#[test]
fn a_panic_is_a_finding_and_not_the_end() {
    let found = Fuzz::new("panics").seeds(["x"]).run(|input| {
        assert!(!input.contains(&b'\n'), "line end at all");
        Ok::<usize, String>(0)
    });
    let found = found.unwrap_err();
    assert!(found.problem.contains("line end at all"), "{found}");
    std::fs::remove_file(found.saved.unwrap()).unwrap();
}

#[test]
fn the_same_seed_gives_the_same_inputs() {
    let inputs = |seed| {
        let mut mutator = Mutator::new(seed, "x", vec![b"word".to_vec()]);
        let pool = [b"one".to_vec(), b"two and three".to_vec()];
        (0..200).map(|_| mutator.mutated(&pool)).collect::<Vec<_>>()
    };
    assert_eq!(inputs(7), inputs(7));
    assert_ne!(inputs(7), inputs(8));
}
