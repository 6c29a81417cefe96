use super::*;

fn leaves(count: u64) -> Vec<Digest32> {
    (0..count).map(|i| Canonical::new("leaf").number(i).hash()).collect()
}

#[test]
fn every_leaf_climbs_to_the_root_and_no_other_does() {
    for count in 1..20 {
        let leaves = leaves(count);
        let root = root(&leaves);
        for (index, leaf) in leaves.iter().enumerate() {
            let path = path(&leaves, index);
            assert_eq!(climb(*leaf, &path), root, "{index} of {count}");
            assert_ne!(climb(Canonical::new("other").hash(), &path), root);
        }
    }
}

#[test]
fn a_list_that_changed_has_another_root() {
    let all = leaves(7);
    let mut swapped = all.clone();
    swapped.swap(2, 5);
    assert_ne!(root(&all), root(&swapped));
    assert_ne!(root(&all), root(&all[..6]));
}
