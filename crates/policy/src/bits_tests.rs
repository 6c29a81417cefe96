use super::*;

#[test]
fn a_choice_is_counted_in_whole_bits() {
    let bits: Vec<u32> = [0, 1, 2, 3, 4, 5, 8, 9, 1024, 1025].map(ceil_log2).to_vec();
    assert_eq!(bits, [0, 0, 1, 2, 2, 3, 3, 4, 10, 11]);
}
